import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError } from "@berth/contract";

// The gateway's replies other than pages. Errors have the same body as in the partner API.
export function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

export function sendError(response: ServerResponse, error: unknown): void {
  const { status, body, headers } = describeError(error);
  sendJson(response, status, body, headers);
}

export function describeError(error: unknown): { status: number; body: object; headers: Record<string, string> } {
  const known = isAppError(error) ? error : new AppError("internal");
  return {
    status: known.status,
    body: { error: known.message, ...(known.details && { details: known.details }) },
    headers: {
      "x-error-code": known.code,
      ...(known.code === "unauthorized" && { "www-authenticate": "Bearer" }),
      ...(known.retryAfterSeconds !== undefined && { "retry-after": String(known.retryAfterSeconds) }),
    },
  };
}

// Refuses an upgrade on the bare socket, where there is no response object.
export function refuseUpgrade(socket: Duplex, status: number, json: string, headers: Record<string, string> = {}): void {
  socket.on("error", () => socket.destroy());
  const lines = Object.entries({
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(json)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}`, ...lines, "", json].join("\r\n"));
}
