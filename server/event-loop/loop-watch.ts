import { Gauge, Histogram, type Registry } from "prom-client";
import type { Log } from "../log.ts";
import { takeLongestWork } from "./loop-work.ts";
import { threadCpuMs } from "./thread-cpu.ts";

export interface LoopWatchDeps {
  log: Log;
  registry: Registry;
}

const TICK_MS = 20;
// A delay that a user notices in a terminal.
const STALL_MS = 100;
// An overloaded machine must not fill the log. A stall in which this thread hardly ran is the machine's: it says nothing about our
// code, and on a busy host there is one every second.
const LOG_EVERY_MS = { ours: 1000, machine: 60_000 };
const MACHINE_SHARE = 0.1;

// Reports stalls of the event loop. A timer that fires late shows how long the loop was blocked, and the marks of loop-work.ts
// show which work ran. `cpuMs` is the CPU time of this thread: much less than `ms` means that it waited for a disk or for a
// CPU. Stalls shorter than the timer's period go unnoticed.
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
  let longestMs = 0;
  let lastMs = performance.now();
  let lastCpuMs = threadCpuMs();
  const logs = { ours: { loggedMs: -Infinity, unlogged: 0 }, machine: { loggedMs: -Infinity, unlogged: 0 } };

  function tick(): void {
    const nowMs = performance.now();
    const cpuMs = threadCpuMs();
    const [stalledMs, usedMs] = [nowMs - lastMs - TICK_MS, cpuMs - lastCpuMs];
    [lastMs, lastCpuMs] = [nowMs, cpuMs];
    const { work } = takeLongestWork();
    if (stalledMs >= STALL_MS) report(work.name, stalledMs, usedMs, nowMs);
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
  const timer = setInterval(tick, TICK_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
