import type { Readable } from "node:stream";

// Stops and resumes the reading of a stream for two reasons at once: its consumer is full, or it has to wait.
export interface ReadSwitch {
  stopUntil(reason: "drained"): void;
  allow(reason: "drained"): void;
  // No-op for 0.
  stopFor(waitMs: number): void;
}

export function createReadSwitch(stream: Readable): ReadSwitch {
  const reasons = new Set<"drained" | "waited">();

  function stop(reason: "drained" | "waited"): void {
    reasons.add(reason);
    stream.pause();
  }

  function allow(reason: "drained" | "waited"): void {
    if (reasons.delete(reason) && reasons.size === 0 && !stream.destroyed) stream.resume();
  }

  return {
    stopUntil: stop,
    allow,
    stopFor(waitMs) {
      if (waitMs === 0) return;
      stop("waited");
      setTimeout(() => allow("waited"), waitMs).unref();
    },
  };
}
