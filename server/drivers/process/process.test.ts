import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite } from "../driver.suite.ts";
import { createProcessDriver, processRefusal } from "./process.ts";

driverSuite("process", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-process-"));
  const runtimeDir = await daemonRuntime();
  const open = () => createProcessDriver({ dataDir, runtimeDir, log: silentLog });
  return {
    driver: open(),
    reopen: async () => open(),
    leftovers: async (id) => [join(dataDir, "sandboxes", id), join(dataDir, "egress", id)].filter((path) => existsSync(path)),
    async dispose() {
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

test("plain processes are refused to other machines unless the operator insists", () => {
  expect(processRefusal({ host: "127.0.0.1", allowUnisolated: false })).toBeUndefined();
  expect(processRefusal({ host: "0.0.0.0", allowUnisolated: true })).toBeUndefined();
  expect(processRefusal({ host: "0.0.0.0", allowUnisolated: false })).toMatch(/BERTH_ALLOW_UNISOLATED=1/);
});
