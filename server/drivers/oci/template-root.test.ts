import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { exec } from "../testing/driver.suite.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";
import { makeSmallRoot } from "./testing/small-root.ts";

const probe = await probeOci();
const missing = probe.usable ? undefined : probe.reason;

describeWith(missing, "a template with its own root", () => {
  let root: string;
  let dataDir: string;
  const token = "a token";
  const tokenHash = createHash("sha256").update(token).digest("hex");
  const signal = () => AbortSignal.timeout(30_000);

  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), "berth-root-data-"));
    root = makeSmallRoot(["cat"]);
  });
  afterAll(() => {
    for (const folder of [root, dataDir]) rmSync(folder, { recursive: true, force: true });
  });

  const open = async () => {
    if (!probe.usable) throw new Error(probe.reason);
    return createOciDriver({
      dataDir,
      runtimeDir: await daemonRuntime(),
      log: silentLog,
      runtime: probe.runtime,
      boundDisks: probe.boundDisks,
    });
  };

  test("its sandboxes see that root and no files of the host", async () => {
    const driver = await open();
    const id = newId("sbx", Date.now());
    try {
      await driver.create({ id, tokenHash, template: { ...DEFAULT_TEMPLATE, root, diskMb: 64 } }, signal());
      const command = "cat /etc/mark; cat /usr/bin/env 2>/dev/null; (echo x > /etc/mark) 2>/dev/null || echo kept; echo y > file; cat file";
      expect(await exec(driver, id, command, token)).toBe("its own root\nkept\ny\n");
    } finally {
      await driver.destroy(id, signal());
    }
  });

  test("a missing root fails the create and leaves nothing behind", async () => {
    const driver = await open();
    const id = newId("sbx", Date.now());
    const template = { ...DEFAULT_TEMPLATE, root: join(root, "missing/deeper"), diskMb: 64 };
    await expect(driver.create({ id, tokenHash, template }, signal())).rejects.toMatchObject({ code: "sandbox_failed" });
    expect(await driver.inspect(id, signal())).toBe("absent");
  });
});
