import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite, type SuiteDriver } from "../driver.suite.ts";
import { findLeftovers } from "./leftovers.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";

const probe = await probeOci();
const skipReason = probe.usable ? (probe.boundDisks ? undefined : probe.reason) : probe.reason;

// In a folder whose name and place make its mounts hard to recognize.
driverSuite("oci", () => openSuite("berth oci\\", { boundDisks: true, throughLink: true }), { skipReason });

// As where loop devices are missing.
driverSuite("oci, disks unbounded", () => openSuite("berth-oci-", { boundDisks: false, throughLink: false }), {
  skipReason: probe.usable ? undefined : probe.reason,
});

async function openSuite(prefix: string, { boundDisks, throughLink }: { boundDisks: boolean; throughLink: boolean }): Promise<SuiteDriver> {
  if (!probe.usable) throw new Error(probe.reason);
  const { runtime } = probe;
  const runtimeDir = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const dataDir = join(folder, throughLink ? "link" : "real");
  mkdirSync(join(folder, "real"));
  if (throughLink) symlinkSync(join(folder, "real"), dataDir);
  const open = () => createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime, boundDisks });
  return {
    driver: open(),
    reopen: async () => open(),
    leftovers: async (id) => findLeftovers(dataDir, id),
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
