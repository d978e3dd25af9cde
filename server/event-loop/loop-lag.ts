import { createHistogram } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

export interface LoopLag {
  // The time between two turns of a timer, in which the event loop was late or not.
  record(ms: number): void;
}

const NS_PER_MS = 1e6;
const NS_PER_SECOND = 1e9;

// The metrics of the delay of the event loop since the last scrape. They have the names of those of prom-client, which has a timer of its
// own for them that wakes an idle server 50 times a second.
export function createLoopLag(registry: Registry): LoopLag {
  const registers = [registry];
  const gauge = (name: string, help: string, collect?: () => void) =>
    new Gauge({ name: `berth_nodejs_eventloop_lag_${name}seconds`, help, registers, ...(collect && { collect }) });
  const delays = createHistogram();
  // The registry collects this one first, and it sets all others.
  const now = gauge("", "Lag of event loop in seconds.", () => {
    const startedMs = performance.now();
    setImmediate(() => now.set((performance.now() - startedMs) / 1000));
    for (const [each, read] of statistics) each.set(read() / NS_PER_SECOND);
    delays.reset();
  });
  const statistics: [Gauge, () => number][] = [
    [gauge("min_", "The minimum recorded event loop delay."), () => delays.min],
    [gauge("max_", "The maximum recorded event loop delay."), () => delays.max],
    [gauge("mean_", "The mean of the recorded event loop delays."), () => delays.mean],
    [gauge("stddev_", "The standard deviation of the recorded event loop delays."), () => delays.stddev],
    [gauge("p50_", "The 50th percentile of the recorded event loop delays."), () => delays.percentile(50)],
    [gauge("p90_", "The 90th percentile of the recorded event loop delays."), () => delays.percentile(90)],
    [gauge("p99_", "The 99th percentile of the recorded event loop delays."), () => delays.percentile(99)],
  ];
  return { record: (ms) => delays.record(Math.round(ms * NS_PER_MS)) };
}
