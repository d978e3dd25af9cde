import type { IncomingMessage, ServerResponse } from "node:http";
import { isAppError } from "@berth/contract";
import type { Log } from "../../log.ts";
import { splitUrl } from "./request-parts.ts";

// Logs one line per reply, without the query, because queries hold tickets and file names. Assets and previews are logged
// at debug level: they are frequent and rarely of interest.
export function logReply(log: Log, area: string | undefined, request: IncomingMessage, response: ServerResponse): void {
  const startedMs = performance.now();
  const { path } = splitUrl(request);
  const level = area === "preview" || path.startsWith("/workspace/assets/") ? "debug" : "info";
  response.once("close", () =>
    log[level]("gateway.request", {
      requestId: response.getHeader("x-request-id"),
      area,
      method: request.method,
      path,
      status: response.statusCode,
      // False if either side disconnected before the end of the reply.
      whole: response.writableFinished,
      ms: Math.round((performance.now() - startedMs) * 100) / 100,
    }),
  );
}

// Logs internal errors only: errors of callers and sandboxes are already in the reply's log line.
export function logInternalError(log: Log, request: IncomingMessage, error: unknown): void {
  if (isAppError(error) && error.code !== "internal") return;
  log.error("gateway.failed", { path: splitUrl(request).path, error: error instanceof Error ? error.stack : String(error) });
}
