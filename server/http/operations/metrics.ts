import type { FastifyInstance } from "fastify";
import { createHash, timingSafeEqual } from "node:crypto";
import { Counter, Histogram, type Registry } from "prom-client";
import { AppError } from "@berth/contract";
import { observeByLabels } from "../../metrics-by-labels.ts";
import { isLoopbackUrl } from "../../network/loopback.ts";
import { isLoopbackCaller } from "../requests/local-caller.ts";
import type { CallWatch } from "./watch-calls.ts";

export interface MetricsDeps {
  registry: Registry;
  // The bearer token for /metrics. Without a token, only this machine may read the metrics, and no one if the base URL is
  // public: behind a proxy, all requests come from this machine.
  metricsToken: string | null;
  baseUrl: string;
}

// Adds /metrics for Prometheus and measures the duration of requests. Labels are route patterns, so their number is bounded.
export function addMetrics(app: FastifyInstance, watch: CallWatch, { registry, metricsToken, baseUrl }: MetricsDeps): void {
  const isPublic = !isLoopbackUrl(baseUrl);
  const duration = new Histogram({
    name: "berth_http_request_duration_seconds",
    help: "Duration of requests to the API",
    labelNames: ["method", "route", "status"] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const observe = observeByLabels(duration, (method: string, route: string, status: number) => ({ method, route, status }));
  const errors = new Counter({
    name: "berth_http_errors_total",
    help: "Replies of the API with an error, by its code",
    labelNames: ["code"] as const,
    registers: [registry],
  });
  watch.onAnswered((request, reply, ms) => {
    const route = request.is404 ? "none" : (request.routeOptions.url ?? "none");
    observe(ms / 1000, request.method, route, reply.statusCode);
    if (reply.statusCode >= 400) errors.inc({ code: String(reply.getHeader("x-error-code") ?? "none") });
  });

  app.get("/metrics", { config: { public: true } }, async (request, reply) => {
    if (metricsToken === null && (isPublic || !isLoopbackCaller(request))) throw new AppError("forbidden", { message: NEEDS_TOKEN });
    if (metricsToken !== null && !isSameText(request.headers.authorization ?? "", `Bearer ${metricsToken}`))
      throw new AppError("unauthorized");
    return reply
      .type(registry.contentType)
      .header("cache-control", "no-store")
      .send(await registry.metrics());
  });
}

const NEEDS_TOKEN = "Metrics need a token on this server: set BERTH_METRICS_TOKEN and send it as a bearer token";

const isSameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
