import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SessionObserver } from "../sessions/session-observer.ts";
import { createScrapeReading } from "./scrape-reading.ts";

export interface SessionMetricsDeps {
  driver: string;
  // Sessions and blank sandboxes, by state. Queried at each scrape.
  countSessions(): Promise<ReadonlyMap<string, number>>;
}

// The range is from a warm create on this machine to a cold one in a cluster that first has to add a node.
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

// Registers the metrics of sessions, of their steps, of the pool and of reconciliation.
export function registerSessionMetrics(registry: Registry, { driver, countSessions }: SessionMetricsDeps): SessionObserver {
  const registers = [registry];
  const counts = createScrapeReading(countSessions);
  new Gauge({
    name: "berth_sessions",
    help: "Sessions and pooled sandboxes in the database, by state",
    labelNames: ["state"],
    registers,
    async collect() {
      this.reset();
      for (const [state, count] of (await counts()) ?? []) this.set({ state }, count);
    },
  });
  const calls = new Histogram({
    name: "berth_session_operation_duration_seconds",
    help: "Duration of calls that create, pause, resume, wake or destroy a session, by driver, start (warm, cold) and outcome",
    labelNames: ["operation", "driver", "start", "outcome"] as const,
    buckets: BUCKETS,
    registers,
  });
  const steps = new Histogram({
    name: "berth_session_step_duration_seconds",
    help: "Duration of the work on a sandbox in one step, of calls, timers, the pool and reconciliation",
    labelNames: ["step", "driver", "outcome"] as const,
    buckets: BUCKETS,
    registers,
  });
  const creates = new Counter({
    name: "berth_pool_creates_total",
    help: "Creates that looked for a warm sandbox in the pool, by template and by what they found (warm, none)",
    labelNames: ["template", "found"],
    registers,
  });
  const found = new Counter({
    name: "berth_reconcile_found_total",
    help: "Differences between store and engine that reconciliation found and repaired, by kind",
    labelNames: ["kind"],
    registers,
  });
  return {
    called: ({ operation, start, outcome, seconds }) => calls.observe({ operation, driver, start, outcome }, seconds),
    stepped: ({ step, outcome, seconds }) => steps.observe({ step, driver, outcome }, seconds),
    looked: (template, what) => creates.inc({ template, found: what }),
    found: (kind) => found.inc({ kind }),
  };
}

export function registerPoolMetrics(registry: Registry, pool: { targets(): ReadonlyMap<string, number> }): void {
  new Gauge({
    name: "berth_pool_target",
    help: "Warm sandboxes that the pool holds when it is full, by template",
    labelNames: ["template"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [template, target] of pool.targets()) this.set({ template }, target);
    },
  });
}
