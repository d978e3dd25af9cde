import type { CoreV1Event, V1Pod } from "@kubernetes/client-node";
import { isAppError } from "@berth/contract";
import type { Cluster } from "./cluster.ts";
import { eventsPath } from "./names.ts";
import type { Workload } from "./workload.ts";

export interface ListenDeps {
  cluster: Cluster;
  namespace: string;
}

// Most pods are there at once, and events are many.
const LISTEN_AFTER_MS = 1_500;

// Why the controller makes no pod: a full quota, an admission that refuses it. The returned function is asked again and again
// while a pod is waited for, and says null when there is nothing to hear. A Sandbox's controller complains in a condition, at
// the generation that we asked for; a StatefulSet's has no condition for it and complains in events only.
export function listenToController({ cluster, namespace }: ListenDeps, signal: AbortSignal) {
  const beganMs = performance.now();
  let before: Map<string | undefined, number> | undefined;

  // What was complained of before we listened may be about an earlier start, so only a complaint that is made again counts.
  async function newComplaint(uid: string): Promise<string | null> {
    const failed = (await eventsOf(uid)).filter(({ reason }) => reason === "FailedCreate");
    const known = before;
    before ??= new Map(failed.map(({ metadata, count }) => [metadata.uid, count ?? 1]));
    return (known && failed.find(({ metadata, count }) => (count ?? 1) > (known.get(metadata.uid) ?? 0))?.message) ?? null;
  }

  // An account that may not look at events is told nothing, and waits.
  async function eventsOf(uid: string): Promise<CoreV1Event[]> {
    try {
      return (await cluster.list<CoreV1Event>(eventsPath(namespace), { fieldSelector: `involvedObject.uid=${uid}` }, signal)).items;
    } catch (error) {
      if (isAppError(error, "sandbox_failed")) return [];
      throw error;
    }
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
