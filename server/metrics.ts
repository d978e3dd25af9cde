import { Counter, Gauge, collectDefaultMetrics, type Registry } from "prom-client";
import type { Db } from "./store/schema.ts";

export interface ServerMetrics {
  // Reconcile found something that was not as it should be.
  found(kind: string): void;
}

// The operator's numbers besides those of HTTP. What the store knows is counted when somebody looks, not on the way.
export function registerMetrics(registry: Registry, db: Db, egress: { counters: { allowed: number; refused: number } }): ServerMetrics {
  collectDefaultMetrics({ register: registry, prefix: "berth_" });
  new Gauge({
    name: "berth_sessions",
    help: "Sessions and pooled sandboxes, by state",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      this.reset();
      const rows = await db
        .selectFrom("sessions")
        .select(["state", ({ fn }) => fn.countAll().as("count")])
        .groupBy("state")
        .execute();
      for (const { state, count } of rows) this.set({ state }, Number(count));
    },
  });
  new Gauge({
    name: "berth_egress_connections_total",
    help: "Connections that sandboxes asked for, by answer",
    labelNames: ["answer"],
    registers: [registry],
    collect() {
      this.set({ answer: "allowed" }, egress.counters.allowed);
      this.set({ answer: "refused" }, egress.counters.refused);
    },
  });
  const found = new Counter({
    name: "berth_reconcile_found_total",
    help: "Differences between store and engine that were found and mended, by kind",
    labelNames: ["kind"],
    registers: [registry],
  });
  return { found: (kind) => found.inc({ kind }) };
}
