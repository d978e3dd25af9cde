import type { Process, ProcessStream } from "@berth/contract/daemon/processes.ts";
import { afterRunningTime } from "../io/running-time.ts";
import { createOutputLog, type OutputLog } from "./output-log.ts";
import { type Running, type RunningOptions, startRunning } from "../programs/running.ts";

// One process of the API: a program, its output as far as it is kept, and its end.
export interface LiveProcess {
  readonly id: string;
  readonly log: OutputLog;
  // null when it has ended.
  readonly running: Running | null;
  readonly endedAt: string | null;
  describe(): Process;
  // Calls back after output and after the end, until disposed.
  onNews(listener: () => void): Disposable;
  // Its output is lost, and how it ends.
  lose(): void;
}

export interface ProcessOptions extends Pick<RunningOptions, "words" | "cwd" | "env" | "pty" | "hasInput"> {
  head: Pick<Process, "id" | "name" | "command" | "cwd">;
  timeoutMs: number | null;
  onEnd: (process: LiveProcess) => void;
  onOutput: () => void;
}

const MAX_LOG_BYTES = 1024 * 1024;

export async function startProcess({ head, timeoutMs, onEnd, onOutput, ...program }: ProcessOptions): Promise<LiveProcess> {
  const log = createOutputLog(MAX_LOG_BYTES);
  const listeners = new Set<() => void>();
  const startedAt = new Date().toISOString();
  let timedOut = false;
  let ended: Pick<Process, "status" | "exitCode" | "signal" | "endedAt"> | null = null;
  let started: Running | null = null;
  let cancelTimeout: (() => void) | null = null;

  const process: LiveProcess = {
    id: head.id,
    log,
    get running() {
      return ended ? null : started;
    },
    get endedAt() {
      return ended?.endedAt ?? null;
    },
    describe: () => ({
      ...head,
      pty: program.pty !== null,
      pid: started?.pid ?? 0,
      timedOut,
      startedAt,
      ...(ended ?? { status: "running", exitCode: null, signal: null, endedAt: null }),
      outputBytes: log.end,
      droppedBytes: log.start,
    }),
    onNews(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    lose: () => finish({ status: "lost", exitCode: null, signal: null }),
  };
  started = await startRunning({ ...program, onOutput: receive, onExit: end });
  if (timeoutMs !== null && !ended) cancelTimeout = afterRunningTime(timeoutMs, () => ((timedOut = true), started?.signal("SIGKILL")));
  return process;

  function receive(stream: ProcessStream, bytes: Uint8Array): void {
    log.write(stream, bytes);
    onOutput();
    tell();
  }

  function end(exitCode: number | null, signal: string | null): void {
    finish({ status: "exited", exitCode, signal });
  }

  function finish(how: Pick<Process, "status" | "exitCode" | "signal">): void {
    if (ended) return;
    cancelTimeout?.();
    ended = { ...how, endedAt: new Date().toISOString() };
    onEnd(process);
    tell();
  }

  function tell(): void {
    for (const listener of listeners) listener();
  }
}

// A process from before a restart of the sandbox. Its output is gone.
export function restoreProcess(saved: Process): LiveProcess {
  const process = { ...saved, droppedBytes: saved.outputBytes };
  return {
    id: saved.id,
    log: createOutputLog(0, saved.outputBytes),
    running: null,
    endedAt: saved.endedAt,
    describe: () => process,
    onNews: () => ({ [Symbol.dispose]() {} }),
    lose() {},
  };
}
