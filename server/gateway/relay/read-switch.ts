import type { Readable } from "node:stream";

// Pauses a stream for two independent reasons: its consumer is full, or its output limit requires a wait. Reading resumes when
// neither applies.
export interface ReadSwitch {
  waitForDrain(): void;
  drained(): void;
  // No-op for 0. A later call replaces an earlier wait.
  waitFor(waitMs: number): void;
}

export function createReadSwitch(stream: Readable): ReadSwitch {
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;

  function resumeIfFree(): void {
    if (!isFull && timer === undefined && !stream.destroyed) stream.resume();
  }

  return {
    waitForDrain() {
      isFull = true;
      stream.pause();
    },
    drained() {
      isFull = false;
      resumeIfFree();
    },
    waitFor(waitMs) {
      if (waitMs === 0) return;
      stream.pause();
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = undefined;
        resumeIfFree();
      }, waitMs).unref();
    },
  };
}
