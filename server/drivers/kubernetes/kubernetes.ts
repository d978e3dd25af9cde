import type { V1Pod } from "@kubernetes/client-node";
import { AppError, type SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Driver, SandboxCondition, SandboxSpec } from "../driver.ts";
import { withDriverErrors } from "../driver-errors.ts";
import { createKeyedLock } from "../keyed-lock.ts";
import { createClaims } from "./warm-pools/claims.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { connectCluster, type ConnectOptions } from "./cluster/connect.ts";
import { findAddressOwner } from "./network/address-owner.ts";
import { dialPod } from "./network/dial-pod.ts";
import { openEgressAddress } from "./network/egress-address.ts";
import { ANNOTATION, volumeClaimsPath, EXTENSIONS, idOf, LABEL, nameOf, podsPath } from "./cluster/names.ts";
import { isAlive, mayReturn, runOf } from "./pods/pod-state.ts";
import type { PodSettings } from "./pods/pod-spec.ts";
import { newestFirst, sandboxOf, watchPods } from "./pods/pod-watch.ts";
import { isAllowed } from "./cluster/permissions.ts";
import { readMemory } from "./cluster/pod-memory.ts";
import { awaitGone, awaitUp } from "./await-pod.ts";
import { createWarmPools, type WarmPoolsSettings } from "./warm-pools/warm-pools.ts";
import { sandboxKind, statefulSetKind, type Workload, type WorkloadKind } from "./workloads/workload-kinds.ts";
import { createWorkloads } from "./workloads/workloads.ts";

export interface KubernetesOptions extends ConnectOptions, Omit<PodSettings, "egress"> {
  installation: string;
  // `host:port` under which pods reach the server's proxy.
  egress: string | null;
  // How long sandboxes go on when no server is there to push the dead-man switch.
  deadManMs?: number;
  // How long beyond its grace period a pod may be on its way out before it counts as hanging on a lost node.
  stuckMs?: number;
  // How long the scheduler may look for a node before the cluster counts as full.
  scheduleWaitMs?: number;
  // Sandboxes of these templates are taken out of the cluster's own pools.
  warmPools?: WarmPoolsSettings | undefined;
  clock: Clock;
  log: Log;
}

// For what must be taken back after the caller has given up.
const UNDO_MS = 30_000;
const CREATE_MS = 30_000;

export async function createKubernetesDriver(options: KubernetesOptions): Promise<Driver> {
  const { installation, clock, log, deadManMs = 60 * MINUTE, stuckMs = 10_000, scheduleWaitMs = 10_000 } = options;
  const { cluster, namespace } = await connectCluster(options);
  const kind = await chooseKind(cluster);
  const egress = await openEgressAddress(options.egress, { clock, log });
  const claims = (await mayHaveClaims(cluster, namespace, kind)) ? createClaims({ cluster, namespace, installation }) : null;
  const workloads = createWorkloads({ cluster, namespace, installation, kind, claims });
  const warmPools = options.warmPools && createWarmPools({ ...options.warmPools, cluster, namespace, installation });
  const { image, userNamespace, imagePullSecrets, storageClass, nodeSelector } = options;
  const currentSettings = async (): Promise<PodSettings> => ({
    image,
    userNamespace,
    imagePullSecrets,
    storageClass,
    nodeSelector,
    egress: await egress.current(),
  });
  await warmPools?.publish(await currentSettings());
  const pods = watchPods({ cluster, namespace, installation, log });
  const pushing = clock.every(deadManMs / 4, () =>
    pushDeadMan().catch((error: unknown) => log.warn("kubernetes.dead_man", { error: String(error) })),
  );
  const ended = new AbortController();
  const inTurn = createKeyedLock();
  log.info("kubernetes.connected", { namespace, workload: kind === sandboxKind ? "Sandbox" : "StatefulSet" });

  const shutdownAt = () => new Date(clock.now() + deadManMs);
  const upDeps = { cluster, pods, workloads, namespace, stuckMs, scheduleWaitMs };

  // Brings the sandbox up from whatever is there. True when its processes are new ones.
  async function bringUp(spec: SandboxSpec, signal: AbortSignal): Promise<boolean> {
    const name = nameOf(spec.id);
    const wanted = kind.describe(spec, name, installation, await currentSettings(), shutdownAt());
    const made = await make(spec, name, wanted, signal);
    if (!made && (await goesOn(name, wanted, signal))) return false;
    if (!made) await workloads.change(name, kind.run(wanted, shutdownAt()), signal);
    const pod = await awaitUp(upDeps, name, signal);
    await warmPools?.adopt(pod, spec.tokenHash, signal);
    await workloads.change(name, { metadata: { annotations: { [ANNOTATION.run]: runOf(pod) } } }, signal);
    return true;
  }

  // A new workload, or one out of the template's warm pool. False when there is one already.
  async function make({ template }: SandboxSpec, name: string, wanted: Workload, signal: AbortSignal): Promise<boolean> {
    // One out of a pool has another name, so that a creation alone would not meet it.
    if (claims && (await workloads.read(name, signal))) return false;
    const pool = warmPools?.of(template);
    if (warmPools === undefined || pool === undefined || !claims) {
      // Without the caller's signal: a request that the API server still works on cannot be taken back by a deletion.
      const made = await cluster.create(kind.path(namespace), wanted, AbortSignal.timeout(CREATE_MS));
      signal.throwIfAborted();
      return made !== null;
    }
    // What waits may be outdated without it, which is no reason to refuse the session.
    await warmPools
      .publish(await currentSettings())
      .catch((error: unknown) => log.warn("kubernetes.template_not_written", { pool, error: String(error) }));
    const object = await claims.take(name, pool, signal);
    if (!(await workloads.name(name, object, kind.take(wanted), signal)))
      throw new AppError("sandbox_failed", { cause: new Error(`${object} is gone`) });
    return true;
  }

  // True when an earlier run goes on. Otherwise what is left of it (a pod that failed, or hangs on a lost node) is cleared
  // away: the volume is one pod's at a time.
  async function goesOn(name: string, wanted: Workload, signal: AbortSignal): Promise<boolean> {
    const workload = await workloads.read(name, signal);
    if (!workload || workload.metadata?.deletionTimestamp)
      throw new AppError("sandbox_failed", { cause: new Error(`${name} is being deleted`) });
    const pod = await pods.read(await workloads.podOf(name, signal), signal);
    const run = workload.metadata?.annotations?.[ANNOTATION.run];
    if (pod && isAlive(pod) && !kind.isSuspended(workload) && run === runOf(pod)) {
      await awaitUp(upDeps, name, signal);
      return true;
    }
    const starting =
      run === undefined &&
      pod &&
      isAlive(pod) &&
      workload.metadata?.annotations?.[ANNOTATION.spec] === wanted.metadata?.annotations?.[ANNOTATION.spec];
    if (pod && !starting) await stop(name, signal);
    return false;
  }

  async function stop(name: string, signal: AbortSignal): Promise<void> {
    const podName = await workloads.podOf(name, signal);
    if (await workloads.change(name, kind.suspend, signal)) await awaitGone(upDeps, name, podName, signal);
  }

  // The truth from workload and pod together. A pod that took the place of the one we knew has none of the session's
  // processes, and nobody has told its daemon the environment: the sandbox counts as stopped, and is.
  function judge(workload: Workload | null, pod: V1Pod | null): SandboxCondition | "replaced" {
    if (!workload || workload.metadata?.deletionTimestamp) return "absent";
    if (kind.isSuspended(workload) || !pod) return "stopped";
    const alive = isAlive(pod);
    if (!alive && !mayReturn(pod, clock.now())) return "stopped";
    const run = workload.metadata?.annotations?.[ANNOTATION.run];
    if (run !== undefined && run !== runOf(pod)) return "replaced";
    return alive ? "running" : "unreachable";
  }

  function conditionOf(workload: Workload | null, pod: V1Pod | null): SandboxCondition {
    const judged = judge(workload, pod);
    if (judged !== "replaced") return judged;
    const { name: object, resourceVersion } = workload!.metadata!;
    const sandboxId = sandboxIdOf(workload!);
    log.warn("kubernetes.pod_replaced", { sandboxId });
    // Only as it was judged: another server may have begun to resume it in the meantime.
    cluster
      .patch(kind.path(namespace, object), { ...kind.suspend, metadata: { resourceVersion } }, ended.signal)
      .catch((error: unknown) => log.warn("kubernetes.suspend_failed", { sandboxId, error: String(error) }));
    return "stopped";
  }

  async function pushDeadMan(): Promise<void> {
    const due = clock.now() + deadManMs / 2;
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(deadManMs / 4)]);
    for (const workload of await workloads.list(signal)) {
      const end = kind.shutdownAt(workload);
      const patch = kind.extend(shutdownAt());
      if (patch && end && end.getTime() < due && !kind.isSuspended(workload))
        await cluster.patch(kind.path(namespace, workload.metadata!.name), patch, signal);
    }
  }

  const step = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    inTurn(id, () => withDriverErrors(signal, work));
  const hibernate = (id: SandboxId, signal: AbortSignal) => step(id, signal, () => stop(nameOf(id), signal));

  async function destroy(id: SandboxId, signal: AbortSignal): Promise<void> {
    const name = nameOf(id);
    const labelled = await workloads.objectOf(name, signal);
    // A claim that was not ours yet in name may have a Sandbox all the same. It goes first, or it would take another.
    const object = labelled === name ? ((await claims?.sandboxOf(name, signal)) ?? name) : labelled;
    await claims?.remove(name, signal);
    await workloads.remove(name, object, signal);
    await awaitGone(upDeps, name, kind.podName(object), signal);
    // The cluster collects the volume with its owner; where it is too old for that, nobody would.
    await cluster.remove(volumeClaimsPath(namespace, kind.volumeClaimName(object)), {}, signal);
  }

  return {
    name: "kubernetes",
    traits: {
      hostBound: false,
      freezes: false,
      isolates: true,
      recipe: JSON.stringify([image, storageClass, userNamespace, nodeSelector]),
    },

    create: (spec, signal) =>
      step(spec.id, signal, async () => {
        const before = await workloads.read(nameOf(spec.id), signal);
        try {
          await bringUp(spec, signal);
        } catch (error) {
          // Files that were there before the call are not ours to delete.
          if (!before) await destroy(spec.id, AbortSignal.timeout(UNDO_MS));
          throw error;
        }
      }),

    pause: hibernate,
    hibernate,

    resume: (spec, signal) =>
      step(spec.id, signal, async () => {
        if (!(await workloads.read(nameOf(spec.id), signal)))
          throw new AppError("sandbox_failed", { message: "The sandbox's files are gone" });
        return { restarted: await bringUp(spec, signal) };
      }),

    destroy: (id, signal) => step(id, signal, () => destroy(id, signal)),

    async inspect(id, signal) {
      const name = nameOf(id);
      const workload = await workloads.read(name, signal);
      return conditionOf(workload, workload && (await pods.read(await workloads.podOf(name, signal), signal)));
    },

    async list(signal) {
      // Claims first: one that is made meanwhile would look like one that nobody has finished.
      const claimed = (await claims?.list(signal)) ?? [];
      const found = await workloads.list(signal);
      const { items } = await cluster.list<V1Pod>(podsPath(namespace), { labelSelector: `${LABEL.installation}=${installation}` }, signal);
      const bySandbox = Map.groupBy(items, sandboxOf);
      const summaries = new Map<SandboxId, SandboxCondition>();
      for (const name of claimed) if (idOf(name)) summaries.set(idOf(name)!, "stopped");
      for (const workload of found) {
        const id = sandboxIdOf(workload);
        const [pod = null] = newestFirst(bySandbox.get(id ? nameOf(id) : "") ?? []);
        if (id) summaries.set(id, conditionOf(workload, pod));
      }
      return Array.from(summaries, ([id, condition]) => ({ id, condition }));
    },

    async stats(id, signal) {
      return { memoryBytes: await readMemory(cluster, namespace, pods.of(nameOf(id))[0]?.metadata?.name, signal), cpuMs: null, pids: null };
    },

    dial: (id, signal) => dialPod({ pods, workloads }, nameOf(id), signal),

    addressOwner: (id, address, signal) => findAddressOwner({ pods, workloads }, nameOf(id), address, signal),

    async [Symbol.asyncDispose]() {
      ended.abort();
      await pushing[Symbol.asyncDispose]();
      await pods[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

const sandboxIdOf = ({ metadata }: Workload) => idOf(metadata?.labels?.[LABEL.sandbox] ?? metadata?.name);

async function chooseKind(cluster: Cluster): Promise<WorkloadKind> {
  return (await cluster.get("/apis/agents.x-k8s.io/v1beta1", AbortSignal.timeout(10_000))) ? sandboxKind : statefulSetKind;
}

// True where sandboxes may have come out of a warm pool, even if no pool is configured any more.
async function mayHaveClaims(cluster: Cluster, namespace: string, kind: WorkloadKind): Promise<boolean> {
  const signal = AbortSignal.timeout(10_000);
  if (kind !== sandboxKind || !(await cluster.get(EXTENSIONS, signal))) return false;
  return await isAllowed(cluster, { namespace, group: "extensions.agents.x-k8s.io", resource: "sandboxclaims", verb: "list" }, signal);
}
