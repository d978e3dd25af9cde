import type { FastifyInstance, FastifyRequest } from "fastify";
import { createHash, timingSafeEqual } from "node:crypto";
import { Histogram, type Registry } from "prom-client";
import { AppError } from "@berth/contract";

export interface MetricsDeps {
  registry: Registry;
  // Asked for as a bearer token. Without one only this machine may look.
  metricsToken: string | null;
}

// /metrics for Prometheus, and how long requests take. Labels are route patterns, so their number is bounded.
export function addMetrics(app: FastifyInstance, { registry, metricsToken }: MetricsDeps): void {
  const duration = new Histogram({
    name: "berth_http_request_duration_seconds",
    help: "Time to answer a request",
    labelNames: ["method", "route", "status"] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.is404 ? "none" : (request.routeOptions.url ?? "none");
    duration.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
    done();
  });

  app.get("/metrics", { config: { public: true } }, async (request, reply) => {
    if (!mayLook(request, metricsToken)) throw new AppError(metricsToken === null ? "forbidden" : "unauthorized");
    return reply
      .type(registry.contentType)
      .header("cache-control", "no-store")
      .send(await registry.metrics());
  });
}

function mayLook(request: FastifyRequest, token: string | null): boolean {
  if (token === null) return isLoopback(request) && request.headers["x-forwarded-for"] === undefined;
  return sameText(request.headers.authorization ?? "", `Bearer ${token}`);
}

const isLoopback = ({ ip }: FastifyRequest): boolean => ip === "::1" || ip.startsWith("127.") || ip.startsWith("::ffff:127.");

const sameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
