import type { V1Pod } from "@kubernetes/client-node";
import { eventsOf, type EventDeps } from "../cluster/events.ts";
import { isUnschedulable } from "./pod-state.ts";

export interface SchedulingDeps extends EventDeps {
  // How long a pod may be unschedulable before the cluster counts as full.
  scheduleWaitMs: number;
}

// The events of the Cluster Autoscaler and of Karpenter for a pod for which they add a node.
const SCALE_UP = new Set(["TriggeredScaleUp", "Nominated"]);

// Returns a function that reports whether the cluster is full, to be called repeatedly while a pod starts. While an autoscaler adds a
// node for the pod, the cluster is not full.
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
