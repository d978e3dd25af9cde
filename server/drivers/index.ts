import type { Log } from "../log.ts";
import type { Driver, DriverName, DriverProbe } from "./driver.ts";

export interface DriverOptions {
  dataDir: string;
  // The daemon's runtime folder (daemon/dist).
  runtimeDir: string;
  log: Log;
  // The address that the server listens on, and whether the operator has said that no isolation is fine there.
  host: string;
  allowUnisolated: boolean;
}

export interface OpenedDriver {
  driver: Driver;
  // What was tried, in order; the last one is what was taken.
  probes: DriverProbe[];
}

interface DriverEntry {
  probe(options: DriverOptions): Promise<DriverProbe>;
  open(options: DriverOptions): Promise<Driver>;
}

// A driver's code, and its vendor's library, is loaded only when it is looked at.
const DRIVERS: Record<DriverName, DriverEntry> = {
  oci: {
    async probe() {
      const { probeOci } = await import("./oci/probe.ts");
      const { usable, reason } = await probeOci();
      return { driver: "oci", usable, reason };
    },
    async open(options) {
      const [{ probeOci }, { createOciDriver }] = await Promise.all([import("./oci/probe.ts"), import("./oci/oci.ts")]);
      const probe = await probeOci();
      if (!probe.usable) throw new Error(probe.reason);
      return createOciDriver({ ...options, runtime: probe.runtime, boundDisks: probe.boundDisks });
    },
  },
  docker: notBuiltYet("docker"),
  kubernetes: notBuiltYet("kubernetes"),
  process: {
    async probe(options) {
      const { processRefusal } = await import("./process/process.ts");
      const refusal = processRefusal(options);
      return { driver: "process", usable: refusal === undefined, reason: refusal ?? "Plain processes always work, without any isolation." };
    },
    async open(options) {
      const { createProcessDriver, processRefusal } = await import("./process/process.ts");
      const refusal = processRefusal(options);
      if (refusal !== undefined) throw new Error(refusal);
      return createProcessDriver(options);
    },
  },
};

// The order of `auto`. Kubernetes is taken only when it is named.
const AUTO: readonly DriverName[] = ["oci", "docker", "process"];

// Opens the driver that is named, or the first that works here. Rejects with one sentence for each that does not.
export async function openDriver(wanted: DriverName | "auto", options: DriverOptions): Promise<OpenedDriver> {
  const probes: DriverProbe[] = [];
  for (const name of wanted === "auto" ? AUTO : [wanted]) {
    const probe = await DRIVERS[name].probe(options);
    probes.push(probe);
    if (probe.usable) return { driver: await DRIVERS[name].open(options), probes };
  }
  throw new Error(probes.map(({ driver, reason }) => `The driver ${driver} cannot be used: ${reason}`).join("\n"));
}

// What each driver says about this machine, for `berth doctor`.
export function probeDrivers(options: DriverOptions, names: readonly DriverName[] = AUTO): Promise<DriverProbe[]> {
  return Promise.all(names.map((name) => DRIVERS[name].probe(options)));
}

function notBuiltYet(driver: DriverName): DriverEntry {
  const reason = `This version has no driver for ${driver}.`;
  return { probe: async () => ({ driver, usable: false, reason }), open: () => Promise.reject(new Error(reason)) };
}
