import type { V1Pod } from "@kubernetes/client-node";
import { eventsOf, type EventDeps } from "../cluster/events.ts";
import { isUnschedulable } from "./pod-state.ts";

export interface SchedulingDeps extends EventDeps {
  // How long a pod may be without a node before that is the answer.
  scheduleWaitMs: number;
}

// What an autoscaler says about a pod for which it adds a node: the Cluster Autoscaler, and Karpenter.
const SCALE_UP = new Set(["TriggeredScaleUp", "Nominated"]);

// Whether the cluster has no room for a pod. The returned function is asked again and again while the pod is waited for. A pod
// for which an autoscaler adds a node goes on waiting, as long as its caller does.
export function watchScheduling(deps: SchedulingDeps, signal: AbortSignal) {
  let sinceMs: number | null = null;
  return async (pod: V1Pod | null): Promise<boolean> => {
    if (!pod || !isUnschedulable(pod)) {
      sinceMs = null;
      return false;
    }
    sinceMs ??= performance.now();
    if (performance.now() - sinceMs < deps.scheduleWaitMs) return false;
    const events = await eventsOf(deps, pod.metadata?.uid ?? "", signal);
    return !events.some(({ reason }) => SCALE_UP.has(reason ?? ""));
  };
}
