import { Counter, Gauge, collectDefaultMetrics, type Registry } from "prom-client";

export interface ProcessMetricsDeps {
  driver: string;
  egress: { counters: { allowed: number; refused: number } };
  droppedLogLines: () => number;
}

const LOOP_LAG = "berth_nodejs_eventloop_lag_";
// The longest period of a timer.
const NEVER_MS = 2 ** 31 - 1;

// Registers the metrics of the process, such as memory and garbage collection, and those of egress and the log.
export function registerProcessMetrics(registry: Registry, { driver, egress, droppedLogLines }: ProcessMetricsDeps): void {
  const registers = [registry];
  // The event loop has metrics of its own (event-loop/loop-lag.ts), because the timer of these would wake an idle server.
  collectDefaultMetrics({ register: registry, prefix: "berth_", eventLoopMonitoringPrecision: NEVER_MS });
  for (const { name } of registry.getMetricsAsArray()) if (name.startsWith(LOOP_LAG)) registry.removeSingleMetric(name);
  new Gauge({ name: "berth_server_info", help: "Always 1; its label is the driver", labelNames: ["driver"], registers }).set({ driver }, 1);
  new Counter({
    name: "berth_log_lines_dropped_total",
    help: "Lines of the log that were dropped, because their reader left or was too slow",
    registers,
    collect() {
      this.reset();
      this.inc(droppedLogLines());
    },
  });
  new Counter({
    name: "berth_egress_connections_total",
    help: "Connections that sandboxes requested, by answer (allowed, refused)",
    labelNames: ["answer"],
    registers,
    collect() {
      // The proxies count, because they exist before the metrics.
      this.reset();
      this.inc({ answer: "allowed" }, egress.counters.allowed);
      this.inc({ answer: "refused" }, egress.counters.refused);
    },
  });
}
