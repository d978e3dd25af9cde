import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../../log.ts";
import { spanOf, type Span } from "../../tracing/span.ts";
import type { CallWatch } from "./watch-calls.ts";

// Logs one line per request and ends its span, with the route's pattern instead of the URL, because URLs contain ids and signatures. Successful
// probes are logged at debug level: three servers on Kubernetes would write a hundred such lines a minute.
export function logRequests(watch: CallWatch, log: Log): void {
  const isWritten = log.writes("info");
  watch.onAnswered((request, reply, ms) => {
    const span = spanOf(request.raw);
    if (!isWritten && !span?.isRecorded) return;
    const { config, url } = request.routeOptions;
    const level = config.probe && reply.statusCode < 400 ? "debug" : "info";
    log[level]("http.request", {
      requestId: request.id,
      method: request.method,
      route: request.is404 ? null : url,
      status: reply.statusCode,
      ms: Math.round(ms * 100) / 100,
      partner: request.principal?.partner.id,
      traceId: span?.traceId,
      spanId: span?.spanId,
    });
    if (span?.isRecorded) endSpan(span, request, reply);
  });
}

function endSpan(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.is404 ? undefined : request.routeOptions.url;
  span.end({
    name: route === undefined ? request.method : `${request.method} ${route}`,
    attributes: {
      "http.request.method": request.method,
      "http.route": route,
      "http.response.status_code": reply.statusCode,
      "berth.request_id": request.id,
      "berth.partner_id": request.principal?.partner.id,
    },
    error: reply.statusCode >= 500 ? String(reply.getHeader("x-error-code") ?? reply.statusCode) : undefined,
  });
}
