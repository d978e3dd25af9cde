import { writeSync } from "node:fs";
import { errorCode } from "../http/http.ts";

// What is typed into a PTY. Not the stream's own `write`: libuv writes to terminals blockingly, so that a program that
// does not read its input would stop the whole daemon. The descriptor itself does not block; what the kernel has no room
// for waits here and is tried again.
export interface PtyInput {
  // False when something waits: take no more until `drained`.
  write: (bytes: Uint8Array) => boolean;
  drained: (then: () => void) => void;
  // The descriptor is about to be closed and must not be touched again.
  close(): void;
}

const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 100;

export function createPtyInput(fd: number): PtyInput {
  let waiting: Uint8Array[] = [];
  let callbacks: (() => void)[] = [];
  let timer: NodeJS.Timeout | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  let closed = false;

  return {
    write(bytes) {
      if (closed) return true;
      waiting.push(bytes);
      if (!timer) flush();
      return waiting.length === 0;
    },
    drained(then) {
      if (waiting.length === 0) then();
      else callbacks.push(then);
    },
    close() {
      closed = true;
      if (timer) clearTimeout(timer);
      empty();
    },
  };

  function flush(): void {
    timer = null;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const written = tryWrite(first);
      if (written === "gone") return empty();
      if (written === 0) {
        timer = setTimeout(flush, pauseMs);
        pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
        return;
      }
      pauseMs = FIRST_PAUSE_MS;
      if (written === first.length) waiting.shift();
      else waiting[0] = first.subarray(written);
    }
    empty();
  }

  function tryWrite(bytes: Uint8Array): number | "gone" {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      return errorCode(error) === "EAGAIN" ? 0 : "gone";
    }
  }

  function empty(): void {
    waiting = [];
    const told = callbacks;
    callbacks = [];
    for (const then of told) then();
  }
}
