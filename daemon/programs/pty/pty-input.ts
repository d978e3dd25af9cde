import { writeSync } from "node:fs";
import { systemCode } from "../../http/errors.ts";

// Writes input to a PTY. libuv uses blocking writes for terminals, so with a stream's own `write`, a program that does not
// read its input would block the whole daemon. This writes to the non-blocking descriptor, queues what the kernel does not
// accept, and retries with growing pauses.
export interface PtyInput {
  // Returns false when input is queued: do not write more until `drained`.
  write: (bytes: Uint8Array) => boolean;
  drained: (callback: () => void) => void;
  // Call this before the descriptor is closed. It is not used afterwards.
  close(): void;
}

const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 100;

export function createPtyInput(fd: number): PtyInput {
  let queue: Uint8Array[] = [];
  let callbacks: (() => void)[] = [];
  let timer: NodeJS.Timeout | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  let closed = false;

  return {
    write(bytes) {
      if (closed) return true;
      queue.push(bytes);
      if (!timer) flush();
      return queue.length === 0;
    },
    drained(callback) {
      if (queue.length === 0) callback();
      else callbacks.push(callback);
    },
    close() {
      closed = true;
      if (timer) clearTimeout(timer);
      empty();
    },
  };

  function flush(): void {
    timer = null;
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const written = tryWrite(first);
      if (written === "closed") return empty();
      if (written === 0) {
        timer = setTimeout(flush, pauseMs);
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
        return;
      }
      pauseMs = FIRST_PAUSE_MS;
      if (written === first.length) queue.shift();
      else queue[0] = first.subarray(written);
    }
    empty();
  }

  function tryWrite(bytes: Uint8Array): number | "closed" {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      return systemCode(error) === "EAGAIN" ? 0 : "closed";
    }
  }

  function empty(): void {
    queue = [];
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
  }
}
