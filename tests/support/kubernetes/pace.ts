import type { ControllerOptions } from "./controllers.ts";

// The delays of a busy cluster.
export interface Pace {
  // From one pod of the controllers to the next: they work on one object at a time.
  podMs: number;
  // From a pod to the scheduler's verdict on it.
  scheduleMs: number;
  // From a node to the processes of the pod.
  startMs: () => number;
  // From the end of a pod's processes to the end of its object.
  endMs: number;
  // From the end of an owner to the deletion of what it owns.
  collectMs: number;
}

export const DEFAULT_PACE: Pace = { podMs: 0, scheduleMs: 0, startMs: () => 0, endMs: 20, collectMs: 0 };

// Delays the controllers, and calls `wake` when one of them may go on.
export function createPacing({ podMs, collectMs }: Pace, wake: () => void): Pick<ControllerOptions, "mayMakePod" | "mayCollect"> {
  let nextPodMs = 0;
  const orphanedAtMs = new Map<string, number>();

  function isDue(atMs: number): boolean {
    const leftMs = atMs - performance.now();
    if (leftMs > 0) setTimeout(wake, leftMs).unref();
    return leftMs <= 0;
  }

  return {
    mayMakePod() {
      if (!isDue(nextPodMs)) return false;
      nextPodMs = performance.now() + podMs;
      return true;
    },
    mayCollect(uid) {
      if (!orphanedAtMs.has(uid)) orphanedAtMs.set(uid, performance.now());
      return isDue(orphanedAtMs.get(uid)! + collectMs);
    },
  };
}
