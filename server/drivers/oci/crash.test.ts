import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isSandboxId, newId } from "@berth/contract";
import { expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { readConfig } from "../../config/config.ts";
import { silentLog } from "../../log.ts";
import { createSandboxDisks } from "../host/disks/sandbox-disks.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";
import { offersWritableRoots } from "./filesystem/writable-root.ts";
import { createOciDriver } from "./oci.ts";
import { makeSmallRoot } from "./testing/small-root.ts";
import { probeOci } from "./probe.ts";

const ROUNDS = Number(process.env.BERTH_CRASH_ROUNDS ?? 4);
// Linux has no process ids above this one.
const NO_PROCESS = 4_194_305;
const probe = await probeOci(readConfig(process.env).config.ociRuntime);
const missing = probe.usable ? undefined : probe.reason;

describeWith(missing, "a server that is killed at a random moment", () => {
  test("leaves only sandboxes that the next server finds and destroys", async () => {
    if (!probe.usable) throw new Error(probe.reason);
    const dataDir = mkdtempSync(join(tmpdir(), "berth-crash-"));
    const runtimeDir = await daemonRuntime();
    const options = { dataDir, runtimeDir, log: silentLog, runtime: probe.runtime, boundDisks: probe.boundDisks };
    const root = offersWritableRoots({ ...probe, asRoot: process.getuid?.() === 0 }) ? makeSmallRoot([]) : "";
    const script = join(import.meta.dirname, "testing/create-until-killed.ts");
    const args = [script, dataDir, runtimeDir, probe.runtime, String(probe.boundDisks), root];
    for (let round = 0; round < ROUNDS; round++) {
      const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let printed = "";
      server.stdout.on("data", (chunk) => (printed += String(chunk)));
      await once(server.stdout, "data");
      await sleep(Math.random() * 600);
      server.kill("SIGKILL");
      await once(server, "close");

      const driver = createOciDriver(options);
      const deadline = () => AbortSignal.timeout(60_000);
      for (const { id } of await driver.list(deadline())) await driver.destroy(id, deadline());
      expect(await driver.list(deadline())).toEqual([]);
      for (const id of printed.split("\n").filter(isSandboxId)) {
        // Also covers a runtime that outlived the server and would still create the container.
        await driver.destroy(id, deadline());
        expect(findRemainingResources(dataDir, id)).toEqual([]);
      }
    }
    for (const folder of [dataDir, root].filter((path) => path !== "")) rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  test("while it deletes the files of a destroyed sandbox leaves a sandbox that the next server lists and destroys", async () => {
    if (!probe.usable) throw new Error(probe.reason);
    const dataDir = mkdtempSync(join(tmpdir(), "berth-crash-"));
    const id = newId("sbx", Date.now());
    const folder = join(dataDir, "sandboxes", id);
    mkdirSync(folder, { recursive: true });
    const signal = AbortSignal.timeout(60_000);
    await createSandboxDisks({ bounded: probe.boundDisks }).open(folder, { create: { diskMb: 64 }, owner: 12_345, signal });
    renameSync(folder, `${folder}.removed-${NO_PROCESS}`);

    const runtimeDir = await daemonRuntime();
    const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime: probe.runtime, boundDisks: probe.boundDisks });
    expect(await driver.list(signal)).toEqual([{ id, condition: "stopped" }]);
    await driver.destroy(id, signal);
    expect(findRemainingResources(dataDir, id)).toEqual([]);
    expect(readdirSync(join(dataDir, "sandboxes"))).toEqual([]);
    expect(await driver.list(signal)).toEqual([]);
    rmSync(dataDir, { recursive: true });
  });
});
