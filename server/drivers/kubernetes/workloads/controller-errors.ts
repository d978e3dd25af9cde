import type { V1Pod } from "@kubernetes/client-node";
import { eventsOf, type EventDeps } from "../cluster/events.ts";
import type { Workload } from "./workload-kinds.ts";

// Most pods are there at once, and events are many.
const LISTEN_AFTER_MS = 1_500;

// Why the controller makes no pod: a full quota, an admission that refuses it. The returned function is asked again and again
// while a pod is waited for, and says null when there is nothing to hear. A Sandbox's controller complains in a condition, at
// the generation that we asked for; a StatefulSet's has no condition for it and complains in events only.
export function watchControllerErrors(deps: EventDeps, signal: AbortSignal) {
  const beganMs = performance.now();
  let before: Map<string | undefined, number> | undefined;

  // What was complained of before we listened may be about an earlier start, so only a complaint that is made again counts.
  async function newComplaint(uid: string): Promise<string | null> {
    const failed = (await eventsOf(deps, uid, signal)).filter(({ reason }) => reason === "FailedCreate");
    const known = before;
    before ??= new Map(failed.map(({ metadata, count }) => [metadata.uid, count ?? 1]));
    return (known && failed.find(({ metadata, count }) => (count ?? 1) > (known.get(metadata.uid) ?? 0))?.message) ?? null;
  }

  return async (workload: Workload, pod: V1Pod | null): Promise<string | null> => {
    if (workload.kind !== "StatefulSet") return complaintOf(workload);
    return pod || performance.now() - beganMs < LISTEN_AFTER_MS ? null : await newComplaint(workload.metadata?.uid ?? "");
  };
}

function complaintOf({ metadata, status }: Workload): string | null {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const current = ready?.observedGeneration === undefined || ready.observedGeneration === metadata?.generation;
  return current && ready?.reason === "ReconcilerError" ? ready.message : null;
}
