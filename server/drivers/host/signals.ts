import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { readProcess, type ProcessEntry } from "./process-table.ts";

const KILL_TIMEOUT_MS = 10_000;

// Sends a signal to each process that still exists.
export function signalAll(entries: readonly ProcessEntry[], signal: NodeJS.Signals): void {
  for (const entry of entries) {
    // The id may have been reused since the process table was read.
    if (readProcess(entry.pid)?.started === entry.started) signalIfRunning(entry.pid, signal);
  }
}

// The caller makes sure that the id has not been reused.
export function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has already ended.
  }
}

// Resolves when all processes have ended, or after the timeout.
export async function awaitEnd(entries: readonly ProcessEntry[], timeoutMs: number): Promise<void> {
  const isRunning = ({ pid, started }: ProcessEntry) => {
    const current = readProcess(pid);
    return current?.started === started && current.state !== "Z";
  };
  for (const endMs = performance.now() + timeoutMs; entries.some(isRunning) && performance.now() < endMs;) await sleep(3);
}

// Kills the processes that `find` returns, repeatedly, because they may start others in the meantime. Resolves when none is left.
export async function killAll(find: () => ProcessEntry[]): Promise<void> {
  const findRunning = () => find().filter((entry) => entry.state !== "Z");
  const endMs = performance.now() + KILL_TIMEOUT_MS;
  for (let running = findRunning(); running.length > 0; running = findRunning()) {
    if (performance.now() > endMs)
      throw new AppError("sandbox_timeout", { cause: new Error(`processes survived SIGKILL for ${KILL_TIMEOUT_MS} ms`) });
    signalAll(running, "SIGKILL");
    await awaitEnd(running, 1_000);
  }
}

// Stops the processes that `find` returns, and those that they start in the meantime.
export function freezeAll(find: () => ProcessEntry[]): void {
  for (const signalled = new Set<number>(); ;) {
    const fresh = find().filter((entry) => !signalled.has(entry.pid) && !/[TZ]/.test(entry.state));
    if (fresh.length === 0) return;
    signalAll(fresh, "SIGSTOP");
    for (const entry of fresh) signalled.add(entry.pid);
  }
}
