import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Templates } from "../templates.ts";
import type { Driver, DriverName, DriverProbe } from "./driver.ts";

// The part of the configuration that drivers read.
export interface DriverConfig {
  // The name of a driver, or `auto`.
  driver: string;
  dataDir: string;
  // Where the server listens, its public URL, and whether the operator accepts sandboxes without isolation.
  host: string;
  baseUrl: string | null;
  allowUnisolated: boolean;
  // oci
  ociRuntime: "auto" | "runc" | "crun" | "runsc";
  diskWriteLimitMib: number;
  registryAuthFile: string | null;
  registryCertificatesDir: string | null;
  // oci and docker
  diskReserveMib: number;
  // docker and kubernetes
  installation: string | null;
  sandboxImage: string;
  sandboxRuntime: "mount" | "image";
  // docker
  dockerSocket: string;
  // kubernetes
  kubeconfig: string | null;
  kubernetesNamespace: string | null;
  kubernetesStorageClass: string | null;
  kubernetesVolumeStorageClass: string | null;
  kubernetesVolumeAccess: "ReadWriteOnce" | "ReadWriteMany";
  kubernetesPullSecrets: readonly string[];
  kubernetesUserNamespaces: boolean;
  kubernetesWarmPools: readonly string[];
  kubernetesScheduleWaitMs: number;
  kubernetesNodeSelector: readonly string[];
  egressAddress: string | null;
}

// Needed only by callers that create sandboxes, not by those that list or destroy them.
export interface CreationDeps {
  templates: Templates;
  secrets: Secrets;
}

// The built daemon with the programs that it needs, mounted into the sandboxes of this machine.
export const RUNTIME_DIR = join(import.meta.dirname, "../../daemon/dist");

// Opens the configured driver, or with `auto` the first one that works, and logs which one and why. If none works, it rejects
// with one sentence per driver.
export async function openDriver(config: DriverConfig, log: Log, creation?: CreationDeps): Promise<Driver> {
  const refusals: string[] = [];
  for (const name of candidates(config.driver)) {
    const { usable, reason } = await DRIVERS[name].probe(config);
    if (usable) {
      log.info("driver.chosen", { driver: name, reason, ...(refusals.length > 0 && { refused: refusals }) });
      const driver = await DRIVERS[name].open({ ...config, runtimeDir: RUNTIME_DIR, log, creation });
      const refusal = creation && findRefusal(driver, creation.templates);
      if (refusal === undefined) return driver;
      await driver[Symbol.asyncDispose]();
      throw new Error(refusal);
    }
    refusals.push(`The driver ${name} cannot be used: ${reason}`);
  }
  throw new Error(refusals.join("\n"));
}

// Finds a template that the driver cannot apply on this machine. template-support.ts has the fields that it cannot apply on any.
function findRefusal({ name, traits }: Driver, templates: Templates): string | undefined {
  const template = [...templates.values()].find(({ writableRoot }) => writableRoot);
  if (name !== "oci" || !template || traits.writableRoots) return undefined;
  const needs = "runc or crun, a server that runs as root, disks with a limit (loop devices) and Linux 5.19 or newer";
  return `The template ${template.name} has writableRoot, which the driver oci does not offer here. It needs ${needs}.`;
}

// Why a driver's machine cannot build images, as the end of a sentence. null: it can.
export async function buildsRefusal(driver: Pick<Driver, "name" | "images">, { ociRuntime }: DriverConfig): Promise<string | null> {
  if (driver.name !== "oci") return NO_BUILDS;
  return (await import("./oci/privileges/build-refusal.ts")).buildRefusal(ociRuntime);
}

const NO_BUILDS =
  "only servers with the driver oci build images. Build it with docker, push it to a registry, and name it in the template or as image in devcontainer.json.";

// Opens a driver whose sandboxes build images. They are in `dataDir`, which no other driver may use.
export async function openBuildDriver(config: DriverConfig, log: Log): Promise<Driver> {
  const [{ probeOci }, { createOciDriver }, { asBuilder }] = await Promise.all([
    import("./oci/probe.ts"),
    import("./oci/oci.ts"),
    import("./oci/privileges/privileges.ts"),
  ]);
  const probe = await probeOci(config.ociRuntime);
  if (!probe.usable) throw new Error(probe.reason);
  const { runtime, boundDisks } = probe;
  return createOciDriver({ ...config, runtimeDir: RUNTIME_DIR, log, runtime, boundDisks, openPrivileges: () => asBuilder });
}

// Probes the drivers that `openDriver` would try, for `berth doctor`.
export function probeDrivers(config: DriverConfig): Promise<DriverProbe[]> {
  return Promise.all(candidates(config.driver).map((name) => DRIVERS[name].probe(config)));
}

function candidates(configured: string): readonly DriverName[] {
  if (configured === "auto") return process.getuid?.() === 0 ? AUTO_AS_ROOT : AUTO;
  const name = (Object.keys(DRIVERS) as DriverName[]).find((driver) => driver === configured);
  if (name === undefined) throw new Error(`There is no driver "${configured}". Choose one of ${Object.keys(DRIVERS).join(", ")} or auto.`);
  return [name];
}

// The order in which `auto` tries the drivers. Kubernetes has to be named. Without root, an Engine limits sandboxes better than oci does.
const AUTO_AS_ROOT: readonly DriverName[] = ["oci", "docker", "process"];
const AUTO: readonly DriverName[] = ["docker", "oci", "process"];

interface DriverOptions extends DriverConfig {
  // The folder with the daemon and the Node that runs it.
  runtimeDir: string;
  log: Log;
  creation: CreationDeps | undefined;
}

interface DriverEntry {
  probe(config: DriverConfig): Promise<DriverProbe>;
  open(options: DriverOptions): Promise<Driver>;
}

// Each driver, and its vendor's library, is imported on first use: they take time and memory to load.
const DRIVERS: Record<DriverName, DriverEntry> = {
  oci: {
    async probe({ driver, ociRuntime, dataDir }) {
      const [{ probeOci }, { hasPlainSandboxes }] = await Promise.all([import("./oci/probe.ts"), import("./process/plain-sandboxes.ts")]);
      if (driver === "auto" && hasPlainSandboxes(dataDir)) return { driver: "oci", usable: false, reason: KEEPS_PROCESSES };
      const { usable, reason } = await probeOci(ociRuntime);
      return { driver: "oci", usable, reason };
    },
    async open(options) {
      const [{ probeOci }, { createOciDriver }, { findPrivileges }, { registryOf }] = await Promise.all([
        import("./oci/probe.ts"),
        import("./oci/oci.ts"),
        import("./oci/privileges/open-privileges.ts"),
        import("./oci/images/open-images.ts"),
      ]);
      const probe = await probeOci(options.ociRuntime);
      if (!probe.usable) throw new Error(probe.reason);
      const images = { registry: registryOf(options) };
      const named = [...(options.creation?.templates.values() ?? [])].flatMap(({ image }) => image ?? []);
      const imageNames = options.creation && { imageNames: new Set(named) };
      return createOciDriver({
        ...options,
        images,
        ...imageNames,
        runtime: probe.runtime,
        boundDisks: probe.boundDisks,
        openPrivileges: await findPrivileges(),
      });
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
        // Two servers on one Engine must be able to tell their containers apart.
        installation: options.installation ?? createHash("sha256").update(resolve(options.dataDir)).digest("hex").slice(0, 12),
      });
    },
  },
  kubernetes: {
    async probe({ kubeconfig, ...config }) {
      return (await import("./kubernetes/probe.ts")).probeKubernetes({
        kubeconfig,
        namespace: config.kubernetesNamespace,
        storageClass: config.kubernetesStorageClass,
        volumeStorageClass: config.kubernetesVolumeStorageClass,
        warmPools: [...poolsOf(config.kubernetesWarmPools).values()],
      });
    },
    async open({ log, creation, ...config }) {
      const { createKubernetesDriver } = await import("./kubernetes/kubernetes.ts");
      return createKubernetesDriver({
        kubeconfig: config.kubeconfig,
        namespace: config.kubernetesNamespace,
        installation: config.installation ?? "berth",
        image: config.sandboxImage,
        templatesHaveDaemon: config.sandboxRuntime === "image",
        egress: config.egressAddress,
        userNamespace: config.kubernetesUserNamespaces,
        imagePullSecrets: [...config.kubernetesPullSecrets],
        storageClass: config.kubernetesStorageClass,
        volumeStorageClass: config.kubernetesVolumeStorageClass ?? config.kubernetesStorageClass,
        volumeAccess: config.kubernetesVolumeAccess,
        scheduleWaitMs: config.kubernetesScheduleWaitMs,
        nodeSelector: Object.fromEntries(config.kubernetesNodeSelector.map((pair) => pair.split("=") as [string, string])),
        warmPools:
          creation && config.kubernetesWarmPools.length > 0
            ? {
                pools: poolsOf(config.kubernetesWarmPools),
                templates: creation.templates,
                seeds: creation.secrets.derive("kubernetes-adoption-v1").map((key) => key.export()),
              }
            : undefined,
        clock: systemClock,
        log,
      });
    },
  },
  process: {
    async probe(options) {
      const { exposureRefusal } = await import("./process/exposure.ts");
      const refusal = exposureRefusal(options);
      return { driver: "process", usable: refusal === undefined, reason: refusal ?? "Plain processes always work, but have no isolation." };
    },
    async open(options) {
      const [{ exposureRefusal }, { createProcessDriver }] = await Promise.all([
        import("./process/exposure.ts"),
        import("./process/process.ts"),
      ]);
      const refusal = exposureRefusal(options);
      if (refusal !== undefined) throw new Error(refusal);
      return createProcessDriver(options);
    },
  },
};

const KEEPS_PROCESSES =
  "The data folder has sandboxes that are plain processes, which stay until they are destroyed. Set BERTH_DRIVER=oci to leave them behind.";

// Parses pairs of `template=pool`.
const poolsOf = (pairs: readonly string[]) => new Map(pairs.map((pair) => pair.split("=") as [string, string]));

async function canBoundDisks(dataDir: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const { probeDisks } = await import("./host/disks/sandbox-disks.ts");
  return (await probeDisks(join(dataDir, "probe"))).bounded;
}
