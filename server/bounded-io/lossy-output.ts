import { constants, fstatSync, openSync, writeSync } from "node:fs";

// Text output of this process that never blocks it. A reader that stops or leaves costs lines, not time, and is no error.
export interface LossyOutput {
  write(text: string): void;
  // Writes as much of the buffered text as the reader takes now.
  flush(): void;
  // The lines that were dropped so far, because the reader did not take them.
  readonly droppedLines: number;
  // Called when the reader takes text again, with the number of lines that were dropped in the meantime.
  onRecovery?: (lines: number) => void;
}

const MAX_BYTES = 1024 * 1024;
// One write for all text of 10 ms: a write for each request would take a sixth of the server's processor time.
const BATCH_MS = 10;
const BATCH_BYTES = 8 * 1024;
const RETRY_MS = 100;
// A process that exits waits so long for a reader that takes nothing.
const EXIT_PATIENCE_MS = 300;

// Takes over the standard output or error, so that what Node and its warnings print there does not block either. Text that does not
// fit into the buffer is dropped.
export function openLossyOutput(stream: NodeJS.WriteStream & { fd: 1 | 2 }): LossyOutput {
  const fd = openNonBlocking(stream);
  let waiting: string[] = [];
  // The rest of a batch that the reader took only in part.
  let rest: Buffer | null = null;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let droppedLines = 0;
  let reportedLines = 0;

  const output: LossyOutput = {
    write(text) {
      const added = Buffer.byteLength(text);
      if (bytes + added > MAX_BYTES) return void (droppedLines += countLines(text));
      waiting.push(text);
      bytes += added;
      if (rest === null && bytes >= BATCH_BYTES) output.flush();
      else timer ??= setTimeout(output.flush, BATCH_MS).unref();
    },
    flush() {
      clearTimeout(timer);
      const outcome = send();
      timer = outcome === "stalled" ? setTimeout(output.flush, RETRY_MS).unref() : undefined;
      if (outcome === "written" && droppedLines > reportedLines) reportDropped();
    },
    get droppedLines() {
      return droppedLines;
    },
  };

  function send(): "written" | "stalled" | "lost" {
    while (rest !== null || waiting.length > 0) {
      const batch: Buffer = rest ?? Buffer.from(takeWaiting());
      try {
        const written = writeSync(fd, batch);
        bytes -= written;
        rest = written < batch.length ? batch.subarray(written) : null;
      } catch (error) {
        rest = batch;
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return "stalled";
        // The reader has left, or the disk is full.
        droppedLines += countLines(batch.toString() + takeWaiting());
        rest = null;
        bytes = 0;
        return "lost";
      }
    }
    return "written";
  }

  function takeWaiting(): string {
    const text = waiting.join("");
    waiting = [];
    return text;
  }

  function reportDropped(): void {
    const lines = droppedLines - reportedLines;
    reportedLines = droppedLines;
    output.onRecovery?.(lines);
  }

  process.on("exit", () => {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    let before = bytes;
    let endMs = performance.now() + EXIT_PATIENCE_MS;
    for (output.flush(); bytes > 0 && performance.now() < endMs; output.flush()) {
      if (bytes < before) endMs = performance.now() + EXIT_PATIENCE_MS;
      before = bytes;
      Atomics.wait(pause, 0, 0, 5);
    }
  });
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    output.write(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
    const callback = rest.find((argument) => typeof argument === "function") as (() => void) | undefined;
    if (callback) process.nextTick(callback);
    return true;
  };
  return output;
}

// Whether writes block is a property that all programs with the same output share, such as the shell. Therefore a pipe or a terminal
// is opened once more. That fails for sockets and for a pipe of another user, which Node makes non-blocking for its own stream. Files
// do not block.
function openNonBlocking(stream: NodeJS.WriteStream & { fd: 1 | 2 }): number {
  const { fd } = stream;
  if (fstatSync(fd).isFile()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    (stream as { _handle?: { setBlocking?(on: boolean): void } })._handle?.setBlocking?.(false);
    return fd;
  }
}

const countLines = (text: string): number => text.split("\n").length - 1;
