import { AppError } from "@berth/contract";
import type { Log } from "../../log.ts";
import type { SandboxSpec, SandboxVolume } from "../driver.ts";
import { awaitGone, awaitReady, type WaitDeps } from "./await-pod.ts";
import { ANNOTATION, nameOf } from "./cluster/names.ts";
import type { NamedVolumes } from "./named-volumes/named-volumes.ts";
import type { PodSettings } from "./pods/pod-spec.ts";
import { isAlive, runIdOf } from "./pods/pod-state.ts";
import type { Claims } from "./warm-pools/claims.ts";
import type { VolumeSnapshots } from "./volume-snapshots.ts";
import type { WarmPools } from "./warm-pools/warm-pools.ts";
import type { Workload, WorkloadKind } from "./workloads/workload-kinds.ts";

export interface StartDeps extends WaitDeps {
  installation: string;
  kind: WorkloadKind;
  // null if the cluster has no warm pools, or our account may not use them.
  claims: Claims | null;
  warmPools: WarmPools | undefined;
  snapshots: Pick<VolumeSnapshots, "claimFields">;
  namedVolumes: Pick<NamedVolumes, "prepare">;
  currentSettings(): Promise<PodSettings>;
  // The shutdown time of a sandbox that starts now.
  shutdownAt(): Date;
  log: Log;
}

// Starts the sandbox in whatever condition it is, and waits for its daemon. `before` is its workload, or null if it has none. Returns true if
// its processes are new.
export async function ensureRunning(deps: StartDeps, spec: SandboxSpec, before: Workload | null, signal: AbortSignal): Promise<boolean> {
  const { kind, installation, workloads, warmPools, namedVolumes } = deps;
  const { volumes = [] } = spec;
  const name = nameOf(spec.id);
  const settings = {
    ...(await deps.currentSettings()),
    // Only a new sandbox needs its snapshot, which may have been deleted since.
    ...(spec.snapshot === undefined || before ? {} : { claimFields: await deps.snapshots.claimFields(spec.snapshot, signal) }),
    sameNodeAs: await namedVolumes.prepare(name, volumes, signal),
  };
  const wanted = kind.describe(spec, name, installation, settings, deps.shutdownAt());
  const created = before === null && (await createWorkload(deps, spec, wanted, signal));
  if (!created) {
    if (await continueRun(deps, { name, wanted, volumes }, signal)) return false;
    await workloads.change(name, kind.run(wanted, deps.shutdownAt()), signal);
  }
  const pod = await awaitReady(deps, { name, volumes }, signal);
  await warmPools?.adopt(pod, spec.tokenHash, signal);
  await workloads.change(name, { metadata: { annotations: { [ANNOTATION.run]: runIdOf(pod) } } }, signal);
  return true;
}

// Ends the sandbox's pod and keeps its volume. No-op if there is no workload.
export async function suspend(deps: StartDeps, name: string, signal: AbortSignal): Promise<void> {
  const podName = await deps.workloads.podOf(name, signal);
  if (await deps.workloads.change(name, deps.kind.suspend, signal)) await awaitGone(deps, name, podName, signal);
}

// Creates a workload, or takes one from the template's warm pool. Returns false if the workload exists.
async function createWorkload(
  deps: StartDeps,
  { id, template, snapshot, volumes = [] }: SandboxSpec,
  wanted: Workload,
  signal: AbortSignal,
): Promise<boolean> {
  const { kind, claims, warmPools, workloads, log } = deps;
  const name = nameOf(id);
  // The disks in a warm pool are empty, and a volume cannot be mounted in a pod that runs.
  const pool = snapshot === undefined && volumes.length === 0 ? warmPools?.of(template) : undefined;
  if (warmPools === undefined || pool === undefined || !claims) {
    const created = await workloads.create(name, wanted);
    signal.throwIfAborted();
    return created;
  }
  // If this fails, the pool may have outdated sandboxes, which is no reason to refuse the session.
  await warmPools
    .publish(await deps.currentSettings())
    .catch((error: unknown) => log.warn("kubernetes.template_not_written", { pool, error: String(error) }));
  const object = await claims.take(name, pool, signal);
  if (!(await workloads.assign(name, object, kind.adopt(wanted), signal)))
    throw new AppError("sandbox_failed", { cause: new Error(`the claimed Sandbox ${object} no longer exists`) });
  return true;
}

// Returns true if an earlier run of the sandbox continues. Otherwise removes its pod, which has failed or is on a lost node, because
// only one pod at a time can use the volume.
async function continueRun(
  deps: StartDeps,
  { name, wanted, volumes }: { name: string; wanted: Workload; volumes: readonly SandboxVolume[] },
  signal: AbortSignal,
): Promise<boolean> {
  const { kind, pods, workloads } = deps;
  const workload = await workloads.read(name, signal);
  if (!workload || workload.metadata?.deletionTimestamp)
    throw new AppError("sandbox_failed", { cause: new Error(`${name} is being deleted`) });
  const pod = await pods.read(await workloads.podOf(name, signal), signal);
  const annotations = workload.metadata?.annotations;
  const runId = annotations?.[ANNOTATION.run];
  if (pod && isAlive(pod) && !kind.isSuspended(workload) && runId === runIdOf(pod)) {
    await awaitReady(deps, { name, volumes }, signal);
    return true;
  }
  const isStarting =
    runId === undefined && pod && isAlive(pod) && annotations?.[ANNOTATION.spec] === wanted.metadata?.annotations?.[ANNOTATION.spec];
  if (pod && !isStarting) await suspend(deps, name, signal);
  return false;
}
