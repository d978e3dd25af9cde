import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError } from "@berth/contract";

// Replies of the gateway that are not pages: the same error body as the partner API's.
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

// The path and the query of a request, as they came.
export function splitTarget(request: IncomingMessage): { path: string; query: string } {
  const target = request.url ?? "/";
  const at = target.indexOf("?");
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at + 1) };
}

export const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
};

// The answer to an upgrade that does not happen, on the bare connection.
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
