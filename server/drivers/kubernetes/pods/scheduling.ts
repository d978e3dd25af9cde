import type { CoreV1Event, V1Pod } from "@kubernetes/client-node";
import { raceAbort } from "../../../bounded-io/race-abort.ts";
import type { EventDeps } from "../cluster/events.ts";
import { eventsPath } from "../cluster/names.ts";
import { isUnschedulable } from "./pod-state.ts";

export interface SchedulingDeps {
  scaleUps: ScaleUps;
  // How long a pod may be unschedulable before the cluster counts as full.
  scheduleWaitMs: number;
}

export interface ScaleUps {
  // Whether an autoscaler has announced a node for the pod with this uid.
  announced(uid: string, signal: AbortSignal): Promise<boolean>;
}

// The events of the Cluster Autoscaler and of Karpenter for a pod for which they add a node.
const SCALE_UP = ["TriggeredScaleUp", "Nominated"];
const LIST_TIMEOUT_MS = 30_000;

// To find events, the API server reads all events of the namespace. So the creates of a burst, which find no room at the same time, share
// one search.
export function createScaleUps({ cluster, namespace }: EventDeps): ScaleUps {
  let search: Promise<Set<string>> | undefined;

  async function findPods(): Promise<Set<string>> {
    const timeout = AbortSignal.timeout(LIST_TIMEOUT_MS);
    const list = (reason: string) =>
      cluster.listIfAllowed<CoreV1Event>(eventsPath(namespace), { fieldSelector: `reason=${reason}` }, timeout);
    const found = await Promise.all(SCALE_UP.map(list));
    return new Set(found.flatMap((events) => (events ?? []).map(({ involvedObject }) => involvedObject.uid ?? "")));
  }

  return {
    async announced(uid, signal) {
      search ??= findPods().finally(() => (search = undefined));
      return (await raceAbort(search, signal)).has(uid);
    },
  };
}

export interface Scheduling {
  // Whether the cluster is full, to be called repeatedly while a pod starts. While an autoscaler adds a node for the pod, it is not.
  isFull(pod: V1Pod | null): Promise<boolean>;
  // The milliseconds until `isFull` can change because the wait for a node ends. Infinity: no such wait goes on.
  dueInMs(): number;
}

export function watchScheduling({ scaleUps, scheduleWaitMs }: SchedulingDeps, signal: AbortSignal): Scheduling {
  let dueAtMs: number | null = null;
  return {
    async isFull(pod) {
      if (!pod || !isUnschedulable(pod)) {
        dueAtMs = null;
        return false;
      }
      dueAtMs ??= performance.now() + scheduleWaitMs;
      if (performance.now() < dueAtMs) return false;
      return !(await scaleUps.announced(pod.metadata?.uid ?? "", signal));
    },
    dueInMs() {
      const leftMs = (dueAtMs ?? Infinity) - performance.now();
      return leftMs > 0 ? leftMs : Infinity;
    },
  };
}
