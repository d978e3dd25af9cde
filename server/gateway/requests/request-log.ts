import type { IncomingMessage, ServerResponse } from "node:http";
import { isAppError } from "@berth/contract";
import type { Log } from "../../log.ts";
import { spanOf, type Span } from "../../tracing/span.ts";
import { traceFields } from "../../tracing/trace-context.ts";
import { operationOf } from "./response-times.ts";
import { splitUrl } from "./request-parts.ts";

// Logs one line per reply and ends the request's span, without the query, because queries hold tickets and file names. Assets and previews are logged
// at debug level: they are frequent and rarely of interest.
export function logResponse(log: Log, area: string | undefined, request: IncomingMessage, response: ServerResponse): void {
  const startedMs = performance.now();
  const { path } = splitUrl(request);
  const level = area === "preview" || path.startsWith("/workspace/assets/") ? "debug" : "info";
  const span = area === "preview" ? undefined : spanOf(request);
  if (!log.writes(level) && !span?.isRecorded) return;
  response.on("close", () => {
    log[level]("gateway.request", {
      requestId: response.getHeader("x-request-id"),
      area,
      method: request.method,
      path,
      status: response.statusCode,
      // False if either side disconnected before the end of the reply.
      whole: response.writableFinished,
      ms: Math.round((performance.now() - startedMs) * 100) / 100,
      ...traceFields(span),
    });
    if (span?.isRecorded) endSpan(span, request, response);
  });
}

// Ends the span of an upgrade, which lasts until the socket is connected or refused.
export function endUpgradeSpan(request: IncomingMessage): void {
  spanOf(request)?.end({ name: `${request.method} ${routeOf(request)}`, attributes: { "http.route": routeOf(request) } });
}

function endSpan(span: Span, request: IncomingMessage, response: ServerResponse): void {
  const { statusCode: status } = response;
  const route = routeOf(request);
  span.end({
    name: `${request.method} ${route}`,
    attributes: {
      "http.request.method": request.method,
      "http.route": route,
      "http.response.status_code": status,
      "berth.request_id": String(response.getHeader("x-request-id")),
    },
    error: status >= 500 ? String(status) : undefined,
  });
}

// The path without the names that callers choose.
function routeOf(request: IncomingMessage): string {
  const [, area, sandboxId, ...rest] = splitUrl(request).path.split("/");
  if (area === "e2b" || area === "files") return "/e2b/envd";
  if (area !== "sandboxes") return "/workspace";
  return rest.length === 0 || sandboxId === undefined ? "/sandboxes/{sandboxId}" : `/sandboxes/{sandboxId}/${operationOf(`/${rest[0]}`)}`;
}

// Logs internal errors only: errors of callers and sandboxes are already in the reply's log line.
export function logInternalError(log: Log, request: IncomingMessage, error: unknown): void {
  if (isAppError(error) && error.code !== "internal") return;
  const text = error instanceof Error ? error.stack : String(error);
  log.error("gateway.failed", { path: splitUrl(request).path, error: text, ...traceFields(spanOf(request)) });
}
