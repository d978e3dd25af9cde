import type { V1Pod } from "@kubernetes/client-node";
import { AppError, type SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Driver, SandboxCondition, SandboxSpec } from "../driver.ts";
import { speaking } from "../failure.ts";
import { createKeyedLock } from "../keyed-lock.ts";
import { connectCluster, resolveEgress, type ConnectOptions } from "./connect.ts";
import { dialPod } from "./dial-pod.ts";
import { ANNOTATION, claimsPath, idOf, LABEL, nameOf, podsPath } from "./names.ts";
import { isAlive, runOf } from "./pod-state.ts";
import type { PodSettings } from "./pod.ts";
import { newestFirst, watchPods } from "./pods.ts";
import { readMemory } from "./stats.ts";
import { awaitGone, awaitUp } from "./waits.ts";
import { sandboxKind, statefulSetKind, type Workload, type WorkloadKind } from "./workload.ts";

export interface KubernetesOptions extends ConnectOptions, Omit<PodSettings, "egress"> {
  installation: string;
  // `host:port` under which pods reach the server's proxy.
  egress: string | null;
  // How long sandboxes go on when no server is there to push the dead-man switch.
  deadManMs?: number;
  // How long beyond its grace period a pod may be on its way out before it counts as hanging on a lost node.
  stuckMs?: number;
  clock: Clock;
  log: Log;
}

// For what must be taken back after the caller has given up.
const UNDO_MS = 30_000;
const CREATE_MS = 30_000;

export async function createKubernetesDriver(options: KubernetesOptions): Promise<Driver> {
  const { installation, clock, log, deadManMs = 60 * MINUTE, stuckMs = 10_000 } = options;
  const { cluster, namespace } = await connectCluster(options);
  const kind = await chooseKind(cluster);
  const settings: PodSettings = { ...options, egress: await resolveEgress(options.egress) };
  const pods = watchPods({ cluster, namespace, installation, kind, log });
  const pushing = clock.every(deadManMs / 4, () =>
    pushDeadMan().catch((error: unknown) => log.warn("kubernetes.dead_man", { error: String(error) })),
  );
  const ended = new AbortController();
  const inTurn = createKeyedLock();
  log.info("kubernetes.connected", { namespace, workload: kind === sandboxKind ? "Sandbox" : "StatefulSet" });

  const shutdownAt = () => new Date(clock.now() + deadManMs);
  const read = (name: string, signal: AbortSignal) => cluster.get<Workload>(kind.path(namespace, name), signal);
  const change = (name: string, patch: object, signal: AbortSignal) => cluster.patch<Workload>(kind.path(namespace, name), patch, signal);
  const upDeps = { cluster, pods, kind, namespace, stuckMs };

  // Brings the sandbox up from whatever is there. True when its processes are new ones.
  async function bringUp(spec: SandboxSpec, signal: AbortSignal): Promise<boolean> {
    const name = nameOf(spec.id);
    const wanted = kind.describe(spec, name, installation, settings, shutdownAt());
    // Without the caller's signal: a request that the API server still works on cannot be taken back by a deletion.
    const made = await cluster.create(kind.path(namespace), wanted, AbortSignal.timeout(CREATE_MS));
    signal.throwIfAborted();
    if (!made && (await goesOn(name, wanted, signal))) return false;
    if (!made) await change(name, kind.run(wanted, shutdownAt()), signal);
    const pod = await awaitUp(upDeps, name, signal);
    await change(name, { metadata: { annotations: { [ANNOTATION.run]: runOf(pod) } } }, signal);
    return true;
  }

  // True when an earlier run goes on. Otherwise what is left of it (a pod that failed, or hangs on a lost node) is cleared
  // away: the volume is one pod's at a time.
  async function goesOn(name: string, wanted: Workload, signal: AbortSignal): Promise<boolean> {
    const workload = await read(name, signal);
    if (!workload || workload.metadata?.deletionTimestamp)
      throw new AppError("sandbox_failed", { cause: new Error(`${name} is being deleted`) });
    const pod = await pods.read(name, signal);
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
    if (await change(name, kind.suspend, signal)) await awaitGone(upDeps, name, signal);
  }

  // The truth from workload and pod together. A pod that took the place of the one we knew has none of the session's
  // processes, and nobody has told its daemon the environment: the sandbox counts as stopped, and is.
  function judge(workload: Workload | null, pod: V1Pod | null): SandboxCondition | "replaced" {
    if (!workload || workload.metadata?.deletionTimestamp) return "absent";
    if (kind.isSuspended(workload) || !pod || !isAlive(pod)) return "stopped";
    const run = workload.metadata?.annotations?.[ANNOTATION.run];
    return run === undefined || run === runOf(pod) ? "running" : "replaced";
  }

  function conditionOf(workload: Workload | null, pod: V1Pod | null): SandboxCondition {
    const judged = judge(workload, pod);
    if (judged !== "replaced") return judged;
    const { name = "", resourceVersion } = workload!.metadata!;
    log.warn("kubernetes.pod_replaced", { sandboxId: idOf(name) });
    // Only as it was judged: another server may have begun to resume it in the meantime.
    change(name, { ...kind.suspend, metadata: { resourceVersion } }, ended.signal).catch((error: unknown) =>
      log.warn("kubernetes.suspend_failed", { sandboxId: idOf(name), error: String(error) }),
    );
    return "stopped";
  }

  async function pushDeadMan(): Promise<void> {
    const due = clock.now() + deadManMs / 2;
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(deadManMs / 4)]);
    for (const workload of await listWorkloads(signal)) {
      const end = kind.shutdownAt(workload);
      const patch = kind.extend(shutdownAt());
      if (patch && end && end.getTime() < due && !kind.isSuspended(workload)) await change(workload.metadata!.name!, patch, signal);
    }
  }

  const listWorkloads = async (signal: AbortSignal) =>
    (await cluster.list<Workload>(kind.path(namespace), { labelSelector: `${LABEL.installation}=${installation}` }, signal)).items;

  const step = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) => inTurn(id, () => speaking(signal, work));
  const hibernate = (id: SandboxId, signal: AbortSignal) => step(id, signal, () => stop(nameOf(id), signal));

  async function destroy(id: SandboxId, signal: AbortSignal): Promise<void> {
    const name = nameOf(id);
    await cluster.remove(kind.path(namespace, name), { propagationPolicy: "Background" }, signal);
    await awaitGone(upDeps, name, signal);
    // The cluster collects the volume with its owner; where it is too old for that, nobody would.
    await cluster.remove(claimsPath(namespace, kind.claimName(name)), {}, signal);
  }

  return {
    name: "kubernetes",
    traits: { hostBound: false, freezes: false, isolates: true },

    create: (spec, signal) =>
      step(spec.id, signal, async () => {
        const before = await read(nameOf(spec.id), signal);
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
        if (!(await read(nameOf(spec.id), signal))) throw new AppError("sandbox_failed", { message: "The sandbox's files are gone" });
        return { restarted: await bringUp(spec, signal) };
      }),

    destroy: (id, signal) => step(id, signal, () => destroy(id, signal)),

    async inspect(id, signal) {
      const name = nameOf(id);
      const workload = await read(name, signal);
      return conditionOf(workload, workload && (await pods.read(name, signal)));
    },

    async list(signal) {
      const workloads = await listWorkloads(signal);
      const { items } = await cluster.list<V1Pod>(podsPath(namespace), { labelSelector: `${LABEL.installation}=${installation}` }, signal);
      const bySandbox = Map.groupBy(items, (pod) => pod.metadata?.labels?.[LABEL.sandbox] ?? "");
      return workloads.flatMap((workload) => {
        const name = workload.metadata?.name ?? "";
        const id = idOf(name);
        const [pod = null] = newestFirst(bySandbox.get(name) ?? []);
        return id ? [{ id, condition: conditionOf(workload, pod) }] : [];
      });
    },

    async stats(id, signal) {
      return { memoryBytes: await readMemory(cluster, namespace, pods.of(nameOf(id))[0]?.metadata?.name, signal), cpuMs: null, pids: null };
    },

    dial: (id, signal) => dialPod(pods, nameOf(id), signal),

    async [Symbol.asyncDispose]() {
      ended.abort();
      await pushing[Symbol.asyncDispose]();
      await pods[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

async function chooseKind(cluster: Awaited<ReturnType<typeof connectCluster>>["cluster"]): Promise<WorkloadKind> {
  return (await cluster.get("/apis/agents.x-k8s.io/v1beta1", AbortSignal.timeout(10_000))) ? sandboxKind : statefulSetKind;
}
