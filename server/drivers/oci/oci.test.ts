import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite, type SuiteDriver } from "../testing/driver.suite.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci, type OciProbe } from "./probe.ts";
import { RUNTIME_NAMES } from "./runtime/runtime-kinds.ts";

const probe = await probeOci();
const refusal = (found: OciProbe) => (found.usable && found.boundDisks ? undefined : found.reason);

// The data folder has a name that the kernel escapes, and is reached through a symbolic link.
driverSuite("oci", () => openSuite(probe, "berth oci\\", { boundDisks: true, throughLink: true }), {
  missing: refusal(probe),
  hasLiveLimits: true,
});

// Some machines have no loop devices.
driverSuite("oci without disk limits", () => openSuite(probe, "berth-oci-", { boundDisks: false, throughLink: false }), {
  missing: probe.usable ? undefined : probe.reason,
  isVariant: true,
  volumesDiffer: true,
});

// The other runtimes, if they are installed.
for (const name of RUNTIME_NAMES.filter((one) => !(probe.usable && basename(probe.runtime) === one))) {
  const found = await probeOci(name);
  driverSuite(`oci on ${name}`, () => openSuite(found, `berth-${name}-`, { boundDisks: true, throughLink: true }), {
    missing: refusal(found),
    hasLiveLimits: true,
  });
}

interface SuiteFolder {
  boundDisks: boolean;
  throughLink: boolean;
}

async function openSuite(probe: OciProbe, prefix: string, { boundDisks, throughLink }: SuiteFolder): Promise<SuiteDriver> {
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
    remainingResources: async (id) => findRemainingResources(dataDir, id),
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
