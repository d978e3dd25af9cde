import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { writeDaemon } from "./testing/write-daemon.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";

const probe = await probeOci();
const missing = probe.usable ? undefined : probe.reason;

// Runtimes and daemons that misbehave. In every case the error has the right code and nothing of the sandbox is left.
interface Attempt {
  // Scripts that replace the real programs.
  runtime?: string;
  daemon?: string;
  startTimeoutMs?: number;
}

describeWith(missing, "a sandbox that cannot be started", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-failures-"));
    chmodSync(folder, 0o755);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function tryToCreate({ runtime, daemon = "exit 0", startTimeoutMs = 15_000 }: Attempt) {
    if (!probe.usable) throw new Error(probe.reason);
    const dataDir = join(folder, "data");
    const command = runtime === undefined ? probe.runtime : join(folder, "runtime");
    if (runtime !== undefined) writeFileSync(command, `#!/bin/sh\n${runtime}\n`, { mode: 0o755 });
    writeDaemon(folder, daemon);
    const driver = createOciDriver({
      dataDir,
      runtimeDir: folder,
      log: silentLog,
      runtime: command,
      boundDisks: probe.boundDisks,
      startTimeoutMs,
    });
    const id = newId("sbx", Date.now());
    const spec = { id, template: { ...DEFAULT_TEMPLATE, diskMb: 64 }, tokenHash: "0".repeat(64) };
    const error: unknown = await driver.create(spec, AbortSignal.timeout(40_000)).catch((reason: unknown) => reason);
    return {
      error,
      remainingResources: findRemainingResources(dataDir, id),
      condition: await driver.inspect(id, AbortSignal.timeout(20_000)),
    };
  }
  const gone = { remainingResources: [], condition: "absent" };

  test("a runtime that hangs fails with sandbox_timeout", async () => {
    expect(await tryToCreate({ runtime: "exec sleep 100", startTimeoutMs: 400 })).toMatchObject({
      ...gone,
      error: { code: "sandbox_timeout" },
    });
  });

  test("an error of the runtime fails the create, with its message as the cause", async () => {
    const outcome = await tryToCreate({ runtime: `printf '{"level":"error","msg":"no such device"}' > "$4"; exit 1` });
    expect(outcome).toMatchObject({ ...gone, error: { code: "sandbox_failed" } });
    expect(String((outcome.error as Error).cause)).toContain("no such device");
  });

  test("a runtime that does nothing fails with sandbox_failed", async () => {
    expect(await tryToCreate({ runtime: "#" })).toMatchObject({ ...gone, error: { code: "sandbox_failed" } });
  });

  test("a daemon that ends immediately fails with sandbox_failed", async () => {
    expect(await tryToCreate({ daemon: "exit 3" })).toMatchObject({ ...gone, error: { code: "sandbox_failed" } });
  });

  test("a daemon that never listens fails with sandbox_timeout", async () => {
    expect(await tryToCreate({ daemon: "sleep 100", startTimeoutMs: 400 })).toMatchObject({
      ...gone,
      error: { code: "sandbox_timeout" },
    });
  });
});
