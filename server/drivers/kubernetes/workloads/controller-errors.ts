import type { V1Pod } from "@kubernetes/client-node";
import { eventsOf, type EventDeps } from "../cluster/events.ts";
import type { Workload } from "./workload-kinds.ts";

// Listing events is expensive, and most pods are created sooner.
const READ_EVENTS_AFTER_MS = 1_500;

// Returns a function that reports why the controller does not create a pod, such as an exceeded quota or an admission policy. It is to
// be called repeatedly while a pod starts, and returns null if there is no error. The controller of a Sandbox reports errors in
// a condition with the generation of our change. The controller of a StatefulSet reports them only in events.
export function watchControllerErrors(deps: EventDeps, signal: AbortSignal) {
  const startedMs = performance.now();
  let before: Map<string | undefined, number> | undefined;

  // Events from before the first call may be about an earlier start, so only an event that occurs again counts.
  async function newEventMessage(uid: string): Promise<string | null> {
    const failed = (await eventsOf(deps, uid, signal)).filter(({ reason }) => reason === "FailedCreate");
    const known = before;
    before ??= new Map(failed.map(({ metadata, count }) => [metadata.uid, count ?? 1]));
    return (known && failed.find(({ metadata, count }) => (count ?? 1) > (known.get(metadata.uid) ?? 0))?.message) ?? null;
  }

  return async (workload: Workload, pod: V1Pod | null): Promise<string | null> => {
    if (workload.kind !== "StatefulSet") return conditionErrorOf(workload);
    return pod || performance.now() - startedMs < READ_EVENTS_AFTER_MS ? null : await newEventMessage(workload.metadata?.uid ?? "");
  };
}

function conditionErrorOf({ metadata, status }: Workload): string | null {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const current = ready?.observedGeneration === undefined || ready.observedGeneration === metadata?.generation;
  return current && ready?.reason === "ReconcilerError" ? ready.message : null;
}
