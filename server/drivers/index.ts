import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Templates } from "../templates.ts";
import type { Driver, DriverName, DriverProbe } from "./driver.ts";

// What the drivers need of the configuration.
export interface DriverConfig {
  // A driver's name, or `auto`.
  driver: string;
  dataDir: string;
  // Where the server listens and where it is reached, and whether the operator has said that no isolation is fine there.
  host: string;
  baseUrl: string | null;
  allowUnisolated: boolean;
  // oci
  ociRuntime: "auto" | "runc" | "crun" | "runsc";
  // docker and kubernetes
  installation: string | null;
  sandboxImage: string;
  // docker
  dockerSocket: string;
  sandboxRuntime: "mount" | "image";
  // kubernetes
  kubeconfig: string | null;
  kubernetesNamespace: string | null;
  kubernetesStorageClass: string | null;
  kubernetesPullSecrets: readonly string[];
  kubernetesUserNamespaces: boolean;
  kubernetesWarmPools: readonly string[];
  kubernetesScheduleWaitMs: number;
  kubernetesNodeSelector: readonly string[];
  egressAddress: string | null;
}

// What only a driver that makes sandboxes needs; who merely looks at them does without.
export interface Making {
  templates: Templates;
  secrets: Secrets;
}

interface DriverOptions extends DriverConfig {
  // The daemon's runtime folder.
  runtimeDir: string;
  log: Log;
  making: Making | undefined;
}

interface DriverEntry {
  probe(config: DriverConfig): Promise<DriverProbe>;
  open(options: DriverOptions): Promise<Driver>;
}

// A driver's code, and its vendor's library, is loaded only when it is looked at.
const DRIVERS: Record<DriverName, DriverEntry> = {
  oci: {
    async probe({ ociRuntime }) {
      const { probeOci } = await import("./oci/probe.ts");
      const { usable, reason } = await probeOci(ociRuntime);
      return { driver: "oci", usable, reason };
    },
    async open(options) {
      const [{ probeOci }, { createOciDriver }] = await Promise.all([import("./oci/probe.ts"), import("./oci/oci.ts")]);
      const probe = await probeOci(options.ociRuntime);
      if (!probe.usable) throw new Error(probe.reason);
      return createOciDriver({ ...options, runtime: probe.runtime, boundDisks: probe.boundDisks });
    },
  },
  docker: {
    async probe({ dockerSocket, sandboxImage }) {
      return (await import("./docker/probe.ts")).probeDocker(dockerSocket, sandboxImage);
    },
    async open({ dockerSocket, sandboxImage, sandboxRuntime, runtimeDir, ...options }) {
      const { createDockerDriver } = await import("./docker/docker.ts");
      return createDockerDriver({
        ...options,
        socketPath: dockerSocket,
        image: sandboxImage,
        runtimeDir: sandboxRuntime === "image" ? null : runtimeDir,
        boundDisks: sandboxRuntime === "mount" && (await canBoundDisks(options.dataDir)),
        // Two servers on one Engine must not take each other's containers for their own.
        installation: options.installation ?? createHash("sha256").update(resolve(options.dataDir)).digest("hex").slice(0, 12),
      });
    },
  },
  kubernetes: {
    async probe({ kubeconfig, kubernetesNamespace: namespace, kubernetesStorageClass: storageClass, kubernetesWarmPools }) {
      const warmPools = [...poolsOf(kubernetesWarmPools).values()];
      return (await import("./kubernetes/probe.ts")).probeKubernetes({ kubeconfig, namespace, storageClass, warmPools });
    },
    async open({ log, making, ...config }) {
      const { createKubernetesDriver } = await import("./kubernetes/kubernetes.ts");
      return createKubernetesDriver({
        kubeconfig: config.kubeconfig,
        namespace: config.kubernetesNamespace,
        installation: config.installation ?? "berth",
        image: config.sandboxImage,
        egress: config.egressAddress,
        userNamespace: config.kubernetesUserNamespaces,
        imagePullSecrets: [...config.kubernetesPullSecrets],
        storageClass: config.kubernetesStorageClass,
        scheduleWaitMs: config.kubernetesScheduleWaitMs,
        nodeSelector: Object.fromEntries(config.kubernetesNodeSelector.map((pair) => pair.split("=") as [string, string])),
        warmPools:
          making && config.kubernetesWarmPools.length > 0
            ? {
                pools: poolsOf(config.kubernetesWarmPools),
                templates: making.templates,
                seeds: making.secrets.derive("kubernetes-adoption-v1"),
              }
            : undefined,
        clock: systemClock,
        log,
      });
    },
  },
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

// `template=pool`
const poolsOf = (given: readonly string[]) => new Map(given.map((pair) => pair.split("=") as [string, string]));

async function canBoundDisks(dataDir: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const { probeVolumes } = await import("./host/volumes.ts");
  return (await probeVolumes(join(dataDir, "probe"))).bounded;
}

// The order of `auto`. Kubernetes is taken only when it is named.
const AUTO: readonly DriverName[] = ["oci", "docker", "process"];
// The daemon with what comes beside it, as sandboxes of this machine see it.
export const RUNTIME_DIR = join(import.meta.dirname, "../../daemon/dist");

// Opens the driver that is named, or the first that works here, and logs which it took and why. Rejects with a sentence
// for each that cannot be used.
export async function openDriver(config: DriverConfig, log: Log, making?: Making): Promise<Driver> {
  const refusals: string[] = [];
  for (const name of candidates(config.driver)) {
    const { usable, reason } = await DRIVERS[name].probe(config);
    if (usable) {
      log.info("driver.chosen", { driver: name, reason, ...(refusals.length > 0 && { refused: refusals }) });
      return await DRIVERS[name].open({ ...config, runtimeDir: RUNTIME_DIR, log, making });
    }
    refusals.push(`The driver ${name} cannot be used: ${reason}`);
  }
  throw new Error(refusals.join("\n"));
}

// What each driver that would be considered says about this machine, for `berth doctor`.
export function probeDrivers(config: DriverConfig): Promise<DriverProbe[]> {
  return Promise.all(candidates(config.driver).map((name) => DRIVERS[name].probe(config)));
}

function candidates(wanted: string): readonly DriverName[] {
  if (wanted === "auto") return AUTO;
  const name = (Object.keys(DRIVERS) as DriverName[]).find((known) => known === wanted);
  if (name === undefined) throw new Error(`There is no driver "${wanted}"; there are ${Object.keys(DRIVERS).join(", ")} and auto.`);
  return [name];
}
