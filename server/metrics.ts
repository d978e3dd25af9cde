import { Counter, Gauge, collectDefaultMetrics, type Registry } from "prom-client";

export interface ServerMetrics {
  // Counts a difference between store and engine that reconciliation found.
  found(kind: string): void;
}

export interface MetricsDeps {
  // Sessions and blank sandboxes, by state. Queried at each scrape.
  countSessions(): Promise<ReadonlyMap<string, number>>;
  egress: { counters: { allowed: number; refused: number } };
}

// Registers the metrics of sessions, egress and reconciliation.
export function registerMetrics(registry: Registry, { countSessions, egress }: MetricsDeps): ServerMetrics {
  collectDefaultMetrics({ register: registry, prefix: "berth_" });
  new Gauge({
    name: "berth_sessions",
    help: "Sessions and pooled sandboxes, by state",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      this.reset();
      for (const [state, count] of await countSessions()) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "berth_egress_connections_total",
    help: "Connections that sandboxes requested, by answer",
    labelNames: ["answer"],
    registers: [registry],
    collect() {
      this.set({ answer: "allowed" }, egress.counters.allowed);
      this.set({ answer: "refused" }, egress.counters.refused);
    },
  });
  const found = new Counter({
    name: "berth_reconcile_found_total",
    help: "Differences between store and engine that reconciliation found and repaired, by kind",
    labelNames: ["kind"],
    registers: [registry],
  });
  return { found: (kind) => found.inc({ kind }) };
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
