import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isSandboxId } from "@berth/contract";
import { expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { readConfig } from "../../config/config.ts";
import { silentLog } from "../../log.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";

const ROUNDS = Number(process.env.BERTH_CRASH_ROUNDS ?? 4);
const probe = await probeOci(readConfig(process.env).config.ociRuntime);
const missing = probe.usable ? undefined : probe.reason;

describeWith(missing, "a server killed at any moment", () => {
  test("leaves nothing that the next one cannot find and destroy", async () => {
    if (!probe.usable) return;
    const dataDir = mkdtempSync(join(tmpdir(), "berth-crash-"));
    const runtimeDir = await daemonRuntime();
    const args = [
      join(import.meta.dirname, "testing/create-until-killed.ts"),
      dataDir,
      runtimeDir,
      probe.runtime,
      String(probe.boundDisks),
    ];
    for (let round = 0; round < ROUNDS; round++) {
      const victim = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let printed = "";
      victim.stdout.on("data", (chunk) => (printed += String(chunk)));
      await once(victim.stdout, "data");
      await sleep(Math.random() * 600);
      victim.kill("SIGKILL");
      await once(victim, "close");

      const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime: probe.runtime, boundDisks: probe.boundDisks });
      const deadline = () => AbortSignal.timeout(60_000);
      for (const { id } of await driver.list(deadline())) await driver.destroy(id, deadline());
      expect(await driver.list(deadline())).toEqual([]);
      for (const id of printed.split("\n").filter(isSandboxId)) {
        // Also what a runtime that outlived the server would still have made.
        await driver.destroy(id, deadline());
        expect(findRemainingResources(dataDir, id)).toEqual([]);
      }
    }
    rmSync(dataDir, { recursive: true, force: true });
  }, 120_000);
});
