import type { V1Pod } from "@kubernetes/client-node";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { withDriverErrors } from "../driver-errors.ts";
import type { Driver, SandboxCondition } from "../driver.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { awaitGone } from "./await-pod.ts";
import { chooseWorkloadKind, mayHaveClaims } from "./cluster-features.ts";
import { connectCluster, type ConnectOptions } from "./cluster/connect.ts";
import { idOf, LABEL, nameOf, podsPath, volumeClaimsPath } from "./cluster/names.ts";
import { readMemory } from "./cluster/pod-memory.ts";
import { conditionOf } from "./condition.ts";
import { findAddressOwner } from "./network/address-owner.ts";
import { dialPod } from "./network/dial-pod.ts";
import { openEgressAddress } from "./network/egress-address.ts";
import { createNamedVolumes, type VolumeAccess } from "./named-volumes/named-volumes.ts";
import type { PodSettings } from "./pods/pod-spec.ts";
import { hasNode, isUnschedulable } from "./pods/pod-state.ts";
import { newestFirst, sandboxOf, watchPods } from "./pods/pod-watch.ts";
import { createScaleUps } from "./pods/scheduling.ts";
import { ensureRunning, suspend, type StartDeps } from "./sandbox-start.ts";
import { createVolumeSnapshots } from "./volume-snapshots.ts";
import { postponeShutdowns } from "./shutdown-times.ts";
import { createClaims } from "./warm-pools/claims.ts";
import { createWarmPools, type WarmPoolsSettings } from "./warm-pools/warm-pools.ts";
import { sandboxKind, type Workload } from "./workloads/workload-kinds.ts";
import { createWorkloads } from "./workloads/workloads.ts";

export interface KubernetesOptions extends ConnectOptions, Omit<PodSettings, "egress" | "claimFields" | "sameNodeAs"> {
  installation: string;
  // The `host:port` at which pods reach the server's egress proxy. null for no egress.
  egress: string | null;
  // The storage class of partners' volumes.
  volumeStorageClass: string | null;
  volumeAccess: VolumeAccess;
  // How long sandboxes run without a server (see shutdown-times.ts).
  deadManMs?: number;
  // How long a pod may terminate beyond its grace period before it is deleted by force.
  stuckMs?: number;
  // How long a pod may be unschedulable before the cluster counts as full.
  scheduleWaitMs?: number;
  // How long a controller may report an error, which it retries, before the start of a sandbox fails.
  controllerErrorMs?: number;
  // The templates whose sandboxes come from a SandboxWarmPool.
  warmPools?: WarmPoolsSettings | undefined;
  clock: Clock;
  log: Log;
}

// How long a clean-up may take after the caller's signal has aborted.
const UNDO_TIMEOUT_MS = 30_000;

// Runs each sandbox as a pod of a Kubernetes cluster. Pods cannot be frozen, so `pause` ends them and keeps their volumes.
export async function createKubernetesDriver(options: KubernetesOptions): Promise<Driver> {
  const { installation, clock, log, deadManMs = 60 * MINUTE } = options;
  const { stuckMs = 10_000, scheduleWaitMs = 10_000, controllerErrorMs = 5_000 } = options;
  const { cluster, namespace } = await connectCluster(options);
  const kind = await chooseWorkloadKind(cluster);
  const egress = await openEgressAddress(options.egress, { clock, log });
  const claimDeps = { cluster, namespace, installation, controllerErrorMs };
  const claims = (await mayHaveClaims(cluster, namespace, kind)) ? createClaims(claimDeps) : null;
  const workloads = createWorkloads({ cluster, namespace, installation, kind, claims });
  const warmPools = options.warmPools && createWarmPools({ ...options.warmPools, cluster, namespace, installation });
  const snapshots = createVolumeSnapshots({ cluster, namespace, installation });
  const namedVolumes = createNamedVolumes({
    cluster,
    namespace,
    installation,
    storageClass: options.volumeStorageClass,
    access: options.volumeAccess,
  });
  const { image, templatesHaveDaemon, userNamespace, imagePullSecrets, storageClass, nodeSelector } = options;
  const currentSettings = async (): Promise<PodSettings> => ({
    image,
    templatesHaveDaemon,
    userNamespace,
    imagePullSecrets,
    storageClass,
    nodeSelector,
    egress: await egress.current(),
  });
  await warmPools?.publish(await currentSettings());
  const pods = watchPods({ cluster, namespace, installation, log });
  const shutdownAt = () => new Date(clock.now() + deadManMs);
  const scaleUps = createScaleUps({ cluster, namespace });
  const waitDeps = { cluster, pods, workloads, namespace, scaleUps, stuckMs, scheduleWaitMs, controllerErrorMs };
  const startDeps: StartDeps = {
    ...waitDeps,
    installation,
    kind,
    claims,
    warmPools,
    snapshots,
    namedVolumes,
    currentSettings,
    shutdownAt,
    log,
  };
  const disposed = new AbortController();
  const postponing = clock.every(deadManMs / 4, () =>
    postponeShutdowns(
      { cluster, namespace, kind, workloads },
      { dueMs: clock.now() + deadManMs / 2, shutdownAt: shutdownAt() },
      AbortSignal.any([disposed.signal, AbortSignal.timeout(deadManMs / 4)]),
    ).catch((error: unknown) => log.warn("kubernetes.postpone_failed", { error: String(error) })),
  );
  const withLock = createKeyedLock();
  const undoing = new Set<Promise<void>>();
  log.info("kubernetes.connected", { namespace, workload: kind === sandboxKind ? "Sandbox" : "StatefulSet" });

  // Suspends a sandbox whose pod was replaced, in the background.
  function observe(workload: Workload | null, pod: V1Pod | null): SandboxCondition {
    const condition = conditionOf(kind, workload, pod, clock.now());
    if (condition !== "replaced") return condition;
    const { name: object, resourceVersion } = workload!.metadata!;
    const sandboxId = sandboxIdOf(workload!);
    log.warn("kubernetes.pod_replaced", { sandboxId });
    // With the resource version, because another server may have begun to resume the sandbox in the meantime.
    cluster
      .patch(kind.path(namespace, object), { ...kind.suspend, metadata: { resourceVersion } }, disposed.signal)
      .catch((error: unknown) => log.warn("kubernetes.suspend_failed", { sandboxId, error: String(error) }));
    return "stopped";
  }

  async function destroy(id: SandboxId, signal: AbortSignal): Promise<void> {
    const name = nameOf(id);
    const labelled = await workloads.objectOf(name, signal);
    // The claim may already have a Sandbox that is not labelled yet. The claim is removed first, because it would take another one.
    const object = labelled === name ? ((await claims?.sandboxOf(name, signal)) ?? name) : labelled;
    await claims?.remove(name, signal);
    await workloads.remove(name, object, signal);
    await awaitGone(waitDeps, name, kind.podName(object), signal);
    // Newer clusters delete the volume claim with its owner. Older ones do not.
    await cluster.remove(volumeClaimsPath(namespace, kind.volumeClaimName(object)), {}, signal);
  }

  function roomOf(id: SandboxId): "given" | "none" | null {
    const own = pods.of(nameOf(id));
    if (own.some(hasNode)) return "given";
    return own.some(isUnschedulable) ? "none" : null;
  }

  const undo = (id: SandboxId) => destroy(id, AbortSignal.timeout(UNDO_TIMEOUT_MS));

  // A pod without a node holds no room, so no caller has to wait until the cluster has deleted it.
  function undoLater(id: SandboxId): void {
    const work = withLock(id, () => undo(id))
      .catch((error: unknown) => log.warn("kubernetes.undo_failed", { sandboxId: id, error: String(error) }))
      .finally(() => undoing.delete(work));
    undoing.add(work);
  }

  const operation = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    withLock(id, () => withDriverErrors(signal, work));
  const hibernate = (id: SandboxId, signal: AbortSignal) => operation(id, signal, () => suspend(startDeps, nameOf(id), signal));

  return {
    name: "kubernetes",
    traits: {
      hostBound: false,
      freezes: false,
      isolates: true,
      recipe: JSON.stringify([image, storageClass, userNamespace, nodeSelector]),
    },

    create: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const before = await workloads.read(nameOf(spec.id), signal);
        try {
          await ensureRunning(startDeps, spec, before, signal);
        } catch (error) {
          // Delete the files only if this call has created them.
          if (!before && isAppError(error, "capacity_reached") && roomOf(spec.id) === "none") undoLater(spec.id);
          else if (!before) await undo(spec.id);
          throw error;
        }
      }),

    pause: hibernate,
    hibernate,

    resume: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const before = await workloads.read(nameOf(spec.id), signal);
        if (!before) throw new AppError("sandbox_failed", { message: "The sandbox's files no longer exist" });
        return { restarted: await ensureRunning(startDeps, spec, before, signal) };
      }),

    destroy: (id, signal) => operation(id, signal, () => destroy(id, signal)),

    takeSnapshot: (id, snapshotId, signal) =>
      operation(id, signal, async () => {
        const object = await workloads.objectOf(nameOf(id), signal);
        return snapshots.take(snapshotId, kind.volumeClaimName(object), signal);
      }),
    deleteSnapshot: (snapshotId, signal) => withDriverErrors(signal, () => snapshots.remove(snapshotId, signal)),
    listSnapshots: (signal) => withDriverErrors(signal, () => snapshots.list(signal)),

    roomOf,
    isFull: () => pods.all().some((pod) => !hasNode(pod) && isUnschedulable(pod)),

    async inspect(id, signal) {
      const name = nameOf(id);
      const workload = await workloads.read(name, signal);
      return observe(workload, workload && (await pods.read(await workloads.podOf(name, signal), signal)));
    },

    async list(signal) {
      // Claims first: a claim that is made after the workloads are listed would look like one without a workload.
      const claimed = (await claims?.list(signal)) ?? [];
      const found = await workloads.list(signal);
      const { items } = await cluster.list<V1Pod>(podsPath(namespace), { labelSelector: `${LABEL.installation}=${installation}` }, signal);
      const podsBySandbox = Map.groupBy(items, sandboxOf);
      const conditions = new Map<SandboxId, SandboxCondition>();
      for (const name of claimed) if (idOf(name)) conditions.set(idOf(name)!, "stopped");
      for (const workload of found) {
        const id = sandboxIdOf(workload);
        const [pod = null] = newestFirst(podsBySandbox.get(id ? nameOf(id) : "") ?? []);
        if (id) conditions.set(id, observe(workload, pod));
      }
      return Array.from(conditions, ([id, condition]) => ({ id, condition }));
    },

    async stats(id, signal) {
      const memoryBytes = await readMemory(cluster, namespace, pods.of(nameOf(id))[0]?.metadata?.name, signal);
      return { memoryBytes, cpuMs: null, pids: null, diskBytes: null };
    },

    images: {},

    volumes: {
      paths: namedVolumes.paths,
      remove: (id, signal) => withDriverErrors(signal, () => namedVolumes.remove(id, signal)),
      list: (signal) => withDriverErrors(signal, () => namedVolumes.list(signal)),
    },

    dial: (id, signal) => dialPod({ pods, workloads }, nameOf(id), signal),

    addressOwner: (id, address, signal) => findAddressOwner({ pods, workloads }, nameOf(id), address, signal),

    async [Symbol.asyncDispose]() {
      await Promise.all(undoing);
      disposed.abort();
      await postponing[Symbol.asyncDispose]();
      await pods[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

const sandboxIdOf = ({ metadata }: Workload) => idOf(metadata?.labels?.[LABEL.sandbox] ?? metadata?.name);
