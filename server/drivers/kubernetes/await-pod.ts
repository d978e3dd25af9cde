import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { daemonAnswers } from "../daemon-health.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { watchControllerErrors } from "./workloads/controller-errors.ts";
import { dialPodAddress } from "./pods/dial-pod-address.ts";
import { podsPath } from "./cluster/names.ts";
import { isAlive, isLeaving, isOnLostNode, isOwnedBy, startFailureOf, type StartFailure } from "./pods/pod-state.ts";
import type { Pods } from "./pods/pod-watch.ts";
import { watchScheduling } from "./pods/scheduling.ts";
import type { Workloads } from "./workloads/workloads.ts";

export interface WaitDeps {
  cluster: Cluster;
  pods: Pods;
  workloads: Workloads;
  namespace: string;
  stuckMs: number;
  scheduleWaitMs: number;
}

// The readiness probe has a step of one second; the daemon is asked much more often than that.
const ASK_MS = 50;
// The watch may be broken: the API server is asked itself now and then.
const LOOK_MS = 1_000;
// An admission error may be gone at the controller's next try.
const ERROR_PATIENCE_MS = 5_000;

// Resolves with the pod once its daemon answers. What is believed is the API server's own answer, read again at every
// change that the watch tells of and once a second: an address that the watch still remembers may be another pod's by now.
export async function awaitUp(deps: WaitDeps, name: string, signal: AbortSignal): Promise<V1Pod> {
  let trouble: StartFailure | null = null;
  let erringSinceMs: number | null = null;
  const complaint = watchControllerErrors(deps, signal);
  const hasNoRoom = watchScheduling(deps, signal);
  try {
    for (;;) {
      const workload = await deps.workloads.read(name, signal);
      if (!workload) throw new AppError("sandbox_failed", { cause: new Error(`${name} was deleted`) });
      const found = await deps.pods.read(await deps.workloads.podOf(name, signal), signal);
      // What a workload of the same name has left behind is for the cluster to collect.
      const pod = found && isOwnedBy(found, workload) ? found : null;
      trouble = pod && !isLeaving(pod) ? startFailureOf(pod) : null;
      if (trouble?.kind === "failed" || (trouble && (await hasNoRoom(pod)))) throw failure(trouble);
      const error = await complaint(workload, pod);
      erringSinceMs = error === null ? null : (erringSinceMs ?? performance.now());
      if (error !== null && performance.now() - erringSinceMs! >= ERROR_PATIENCE_MS) throw failure({ kind: "failed", reason: error });
      const lookAgainMs = performance.now() + LOOK_MS;
      for (let changed = false; !changed && performance.now() < lookAgainMs;) {
        const isDialable = pod !== null && isAlive(pod) && pod.status?.podIP !== undefined;
        if (isDialable && (await daemonAnswers((inner) => dialPodAddress(pod, inner), signal))) return pod;
        changed = await deps.pods.changed(name, isDialable ? ASK_MS : LOOK_MS, signal);
      }
    }
  } catch (error) {
    // The caller gave up while the cluster had no place for the pod: that is what to say.
    throw signal.aborted && trouble ? failure(trouble) : error;
  }
}

// Resolves once the sandbox's pod, which is called `podName`, is no more.
export async function awaitGone(deps: WaitDeps, name: string, podName: string, signal: AbortSignal): Promise<void> {
  const { cluster, pods, namespace, stuckMs } = deps;
  for (;;) {
    const pod = await pods.read(podName, signal);
    if (!pod) return;
    if (isStuck(pod, stuckMs)) await cluster.remove(podsPath(namespace, pod.metadata?.name), { gracePeriodSeconds: 0 }, signal);
    await pods.changed(name, LOOK_MS / 2, signal);
  }
}

// Its node does not answer any more, so nobody will report its end. The volume is safe: it is attached elsewhere only
// once the storage allows it.
function isStuck({ metadata, ...pod }: V1Pod, stuckMs: number): boolean {
  if (metadata?.deletionTimestamp === undefined) return false;
  // The API says when the pod is to be gone. A lost node's is not waited for that long.
  const graceMs = (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const sinceMs = new Date(metadata.deletionTimestamp).getTime() - (isOnLostNode(pod) ? graceMs : 0);
  return Date.now() - sinceMs > stuckMs;
}

function failure({ kind, reason }: StartFailure): AppError {
  const full = kind === "no_room" || /exceeded quota/.test(reason);
  return new AppError(full ? "capacity_reached" : "sandbox_failed", { cause: new Error(`kubernetes: ${reason}`) });
}
