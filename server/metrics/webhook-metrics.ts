import { Gauge, Histogram, type Registry } from "prom-client";
import type { WebhookObserver } from "../events/webhooks/webhook-observer.ts";
import { createScrapeReading } from "./scrape-reading.ts";

export interface WebhookMetricsDeps {
  readBacklog(): Promise<WebhookBacklog>;
  nowMs(): number;
}

interface WebhookBacklog {
  pending: number;
  dueSinceMs: number | null;
  endpoints: Record<string, number>;
}

// Registers the metrics of webhooks. Labels never name a partner or a receiver.
export function registerWebhookMetrics(registry: Registry, { readBacklog, nowMs }: WebhookMetricsDeps): WebhookObserver {
  const registers = [registry];
  const reading = createScrapeReading(readBacklog);
  new Gauge({
    name: "berth_webhook_lag_seconds",
    help: "How long the longest waiting delivery that is due has waited for a free sender",
    registers,
    async collect() {
      const backlog = await reading();
      this.set(backlog ? Math.max(0, nowMs() - (backlog.dueSinceMs ?? Infinity)) / 1000 : NaN);
    },
  });
  new Gauge({
    name: "berth_webhook_endpoints",
    help: "Webhook endpoints, by state (healthy, failing, disabled)",
    labelNames: ["state"],
    registers,
    async collect() {
      this.reset();
      for (const [state, count] of Object.entries((await reading())?.endpoints ?? {})) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "berth_webhook_pending_deliveries",
    help: "Deliveries that wait for their first attempt or for a retry, counted up to 100,000",
    registers,
    async collect() {
      this.set((await reading())?.pending ?? NaN);
    },
  });
  const attempts = new Histogram({
    name: "berth_webhook_attempt_duration_seconds",
    help: "Duration of attempts to send a delivery, by outcome (delivered, retried, failed)",
    labelNames: ["outcome"] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const delay = new Histogram({
    name: "berth_webhook_delivery_delay_seconds",
    help: "Time from queueing an event for an endpoint to the receiver's acknowledgement",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 86_400],
    registers,
  });
  return {
    attempted({ outcome, seconds, delaySeconds }) {
      attempts.observe({ outcome }, seconds);
      if (outcome === "delivered") delay.observe(delaySeconds);
    },
  };
}
