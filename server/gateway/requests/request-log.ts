import type { IncomingMessage, ServerResponse } from "node:http";
import { isAppError } from "@berth/contract";
import type { Log } from "../../log.ts";
import { splitTarget } from "./reply.ts";

// One line for every answer of the gateway, without queries: they hold tickets and names of files. Parts of the app and of
// previews are many and say little.
export function logAnswer(log: Log, area: string | undefined, request: IncomingMessage, response: ServerResponse): void {
  const startedMs = performance.now();
  const { path } = splitTarget(request);
  const level = area === "preview" || path.startsWith("/workspace/assets/") ? "debug" : "info";
  response.once("close", () =>
    log[level]("gateway.request", {
      requestId: response.getHeader("x-request-id"),
      area,
      method: request.method,
      path,
      status: response.statusCode,
      // False when either side left before the answer was whole.
      whole: response.writableFinished,
      ms: Math.round((performance.now() - startedMs) * 100) / 100,
    }),
  );
}

// What a caller did wrong, or a sandbox, is no fault of ours.
export function logFault(log: Log, request: IncomingMessage, error: unknown): void {
  if (isAppError(error) && error.code !== "internal") return;
  log.error("gateway.failed", { path: splitTarget(request).path, error: error instanceof Error ? error.stack : String(error) });
}
