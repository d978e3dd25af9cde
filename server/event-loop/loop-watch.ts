import { Gauge, Histogram, type Registry } from "prom-client";
import type { Log } from "../log.ts";
import { createLoopLag } from "./loop-lag.ts";
import { onNextMark, takeLongestWork } from "./loop-work.ts";
import { threadCpuMs } from "./thread-cpu.ts";

export interface LoopWatchDeps {
  log: Log;
  registry: Registry;
}

const TICK_MS = 20;
// While no work is marked, so that an idle server seldom wakes.
const QUIET_TICK_MS = 250;
// A delay that a user notices in a terminal.
const STALL_MS = 100;
// An overloaded machine must not fill the log. A stall in which this thread hardly ran is the machine's: it says nothing about our
// code, and on a busy host there is one every second.
const LOG_EVERY_MS = { ours: 1000, machine: 60_000 };
const MACHINE_SHARE = 0.1;

// Reports stalls of the event loop. A timer that fires late shows how long the loop was blocked, and the marks of loop-work.ts
// show which work ran. `cpuMs` is the CPU time of this thread: much less than `ms` means that it waited for a disk or for a
// CPU. A stall is reported shorter by up to the timer's period. That is long only until the first mark, so it matters only for work
// without a mark.
export function createLoopWatch({ log, registry }: LoopWatchDeps): Disposable {
  const stalls = new Histogram({
    name: "berth_event_loop_stall_seconds",
    help: "Stalls of the event loop longer than 100 ms, by the work that ran",
    labelNames: ["handler"] as const,
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const longest = new Gauge({
    name: "berth_event_loop_longest_stall_seconds",
    help: "The longest stall of the event loop since the start",
    registers: [registry],
  });
  const lag = createLoopLag(registry);
  let longestMs = 0;
  let periodMs = TICK_MS;
  let isMarked = false;
  let isOpen = true;
  let timer: NodeJS.Timeout | undefined;
  let lastMs = performance.now();
  let lastCpuMs = threadCpuMs();
  const logs = { ours: { loggedMs: -Infinity, unlogged: 0 }, machine: { loggedMs: -Infinity, unlogged: 0 } };

  function tick(): void {
    look();
    wait(isMarked ? TICK_MS : QUIET_TICK_MS);
    isMarked = false;
    onNextMark(noteMark);
  }

  function wait(ms: number): void {
    clearTimeout(timer);
    periodMs = ms;
    timer = setTimeout(tick, ms).unref();
  }

  function noteMark(): void {
    if (periodMs === TICK_MS) return void (isMarked = true);
    look();
    wait(TICK_MS);
    // The marks of this turn belong to the same work.
    setImmediate(() => isOpen && onNextMark(noteMark));
  }

  function look(): void {
    const nowMs = performance.now();
    const cpuMs = threadCpuMs();
    const [passedMs, usedMs] = [nowMs - lastMs, cpuMs - lastCpuMs];
    [lastMs, lastCpuMs] = [nowMs, cpuMs];
    const { work } = takeLongestWork();
    const stalledMs = passedMs - periodMs;
    if (stalledMs >= STALL_MS) report(work.name, stalledMs, usedMs, nowMs);
    recordLag(passedMs, Math.max(0, stalledMs));
  }

  // A long period counts as all the short ones in it, so that the percentiles are those of a watch that always ticks.
  function recordLag(passedMs: number, lateMs: number): void {
    const ticks = Math.round((passedMs - lateMs) / TICK_MS);
    for (let tick = 1; tick < ticks; tick++) lag.record(TICK_MS);
    if (ticks > 0) lag.record(TICK_MS + lateMs);
  }

  function report(handler: string, stalledMs: number, cpuMs: number, nowMs: number): void {
    stalls.observe({ handler }, stalledMs / 1000);
    longestMs = Math.max(longestMs, stalledMs);
    longest.set(longestMs / 1000);
    const cause = cpuMs < stalledMs * MACHINE_SHARE ? "machine" : "ours";
    const { loggedMs, unlogged } = logs[cause];
    if (nowMs - loggedMs < LOG_EVERY_MS[cause]) return void logs[cause].unlogged++;
    log.warn("loop.stalled", { handler, ms: Math.round(stalledMs), cpuMs: Math.round(cpuMs), ...(unlogged > 0 && { unlogged }) });
    logs[cause] = { loggedMs: nowMs, unlogged: 0 };
  }

  // Discards work from before the watch.
  takeLongestWork();
  onNextMark(noteMark);
  wait(TICK_MS);
  return {
    [Symbol.dispose]() {
      isOpen = false;
      clearTimeout(timer);
      onNextMark(undefined);
    },
  };
}
