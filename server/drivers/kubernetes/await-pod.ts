import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { daemonAnswers } from "../daemon-health.ts";
import { imageNotFetched } from "../image-not-fetched.ts";
import type { SandboxVolume } from "../driver.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { watchControllerErrors } from "./workloads/controller-errors.ts";
import { dialPodAddress } from "./pods/dial-pod-address.ts";
import { podsPath } from "./cluster/names.ts";
import { volumeError, watchVolumes, type VolumeProblem } from "./named-volumes/volume-problems.ts";
import { hasNode, isAlive, isTerminating, isOnLostNode, isOwnedBy, startFailureOf, type StartFailure } from "./pods/pod-state.ts";
import type { Pods } from "./pods/pod-watch.ts";
import { watchScheduling, type ScaleUps } from "./pods/scheduling.ts";
import type { Workloads } from "./workloads/workloads.ts";

export interface WaitDeps {
  cluster: Cluster;
  pods: Pods;
  workloads: Workloads;
  namespace: string;
  scaleUps: ScaleUps;
  stuckMs: number;
  scheduleWaitMs: number;
  controllerErrorMs: number;
}

// The readiness probe runs only once a second, so the daemon is polled directly.
const DAEMON_POLL_MS = 50;
// The watch may be broken, so the API server is polled as well: the more starts wait, the less often each one asks, so that a burst does
// not slow down the API server that it waits for.
const POD_POLL_MS = 1_000;
const POLL_MORE_MS = 100;
let waiting = 0;

// Resolves with the pod when its daemon answers. The pod is read from the API server when the watch reports that it runs or cannot start,
// and about once a second: the address of a watched pod may already belong to another pod.
export async function awaitReady(
  deps: WaitDeps,
  { name, volumes = [] }: { name: string; volumes?: readonly SandboxVolume[] | undefined },
  signal: AbortSignal,
): Promise<V1Pod> {
  let startFailure: StartFailure | null = null;
  let volumeProblem: VolumeProblem | null = null;
  let failingSinceMs: number | null = null;
  const controllerError = watchControllerErrors(deps, signal);
  const scheduling = watchScheduling(deps, signal);
  const findVolumeProblem = watchVolumes(deps, volumes, signal);
  using changes = deps.pods.follow(name);
  waiting++;
  try {
    for (;;) {
      const [workload, found] = await Promise.all([
        deps.workloads.read(name, signal),
        deps.workloads.podOf(name, signal).then((podName) => deps.pods.read(podName, signal)),
      ]);
      if (!workload) throw new AppError("sandbox_failed", { cause: new Error(`${name} was deleted`) });
      // Ignore a pod of an earlier workload with the same name, which the cluster still has to delete.
      const pod = found && isOwnedBy(found, workload) ? found : null;
      startFailure = pod && !isTerminating(pod) ? startFailureOf(pod) : null;
      if (startFailure && startFailure.kind !== "no_room") throw failure(startFailure);
      // The search for an autoscaler takes a while, in which the pod may have got a node.
      if (startFailure && (await scheduling.isFull(pod)) && !deps.pods.of(name).some(hasNode)) throw failure(startFailure);
      volumeProblem = await findVolumeProblem(pod);
      if (volumeProblem?.isPermanent) throw volumeError(volumeProblem);
      const error = await controllerError(workload, pod);
      failingSinceMs = error === null ? null : (failingSinceMs ?? performance.now());
      if (error !== null && performance.now() - failingSinceMs! >= deps.controllerErrorMs) throw failure({ kind: "failed", reason: error });
      const pollMs = Math.min(POD_POLL_MS + (waiting - 1) * POLL_MORE_MS, scheduling.dueInMs());
      const nextReadMs = performance.now() + pollMs;
      // A timer may fire a moment early, so it gets the time that is left.
      for (let isNews = false, leftMs = pollMs; !isNews && leftMs > 0; leftMs = nextReadMs - performance.now()) {
        const dialable = pod !== null && isDialable(pod);
        if (dialable && (await daemonAnswers((inner) => dialPodAddress(pod, inner), signal))) return pod;
        isNews = (await changes.next(dialable ? DAEMON_POLL_MS : leftMs, signal)) && deps.pods.of(name).some(isWorthReading);
      }
    }
  } catch (error) {
    // If the caller's signal aborts while the pod cannot start, report why it cannot.
    if (signal.aborted && volumeProblem) throw volumeError(volumeProblem);
    throw signal.aborted && startFailure ? failure(startFailure) : error;
  } finally {
    waiting--;
  }
}

const isDialable = (pod: V1Pod) => isAlive(pod) && pod.status?.podIP !== undefined;

// Most changes of a pod that starts, such as that it has a node, are not.
const isWorthReading = (pod: V1Pod) => isDialable(pod) || startFailureOf(pod) !== null;

// Resolves when the pod `podName` of the sandbox no longer exists.
export async function awaitGone(deps: WaitDeps, name: string, podName: string, signal: AbortSignal): Promise<void> {
  const { cluster, pods, namespace, stuckMs } = deps;
  using changes = pods.follow(name);
  for (;;) {
    const pod = await pods.read(podName, signal);
    if (!pod) return;
    if (isStuck(pod, stuckMs)) await cluster.remove(podsPath(namespace, pod.metadata?.name), { gracePeriodSeconds: 0 }, signal);
    await changes.next(POD_POLL_MS / 2, signal);
  }
}

// The pod's node does not answer, so the end of the pod is never reported. Deleting it by force does not endanger the volume: the
// storage attaches it elsewhere only when that is safe.
function isStuck({ metadata, ...pod }: V1Pod, stuckMs: number): boolean {
  if (metadata?.deletionTimestamp === undefined) return false;
  // deletionTimestamp includes the grace period. On a lost node there is no reason to wait for that.
  const graceMs = (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const sinceMs = new Date(metadata.deletionTimestamp).getTime() - (isOnLostNode(pod) ? graceMs : 0);
  return Date.now() - sinceMs > stuckMs;
}

function failure({ kind, reason }: StartFailure): AppError {
  if (kind === "not_fetched") return imageNotFetched(`kubernetes: ${reason}`);
  const isFull = kind === "no_room" || /exceeded quota/.test(reason);
  return new AppError(isFull ? "capacity_reached" : "sandbox_failed", { cause: new Error(`kubernetes: ${reason}`) });
}
