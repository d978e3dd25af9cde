import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError, type ErrorBody } from "@berth/contract";
import { endSocket } from "./bounded-io/end-socket.ts";

// An error as an HTTP reply, the same at every boundary of the server. The body is `{error, details?}`; the code is in a
// header.
export interface ErrorReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

// Errors other than AppErrors become `internal`, so that no internals reach the caller.
export function toErrorReply(thrown: unknown): ErrorReply {
  const error = isAppError(thrown) ? thrown : new AppError("internal");
  const body: ErrorBody = { error: error.message, ...(error.details && { details: error.details }) };
  return {
    status: error.status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-error-code": error.code,
      ...(error.code === "unauthorized" && { "www-authenticate": "Bearer" }),
      ...(error.retryAfterSeconds !== undefined && { "retry-after": String(error.retryAfterSeconds) }),
    },
    body: JSON.stringify(body),
  };
}

// Writes a reply to a bare socket, for which Node has no response object, and closes it.
export function endSocketWithReply(socket: Duplex, { status, headers, body }: ErrorReply): void {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  endSocket(socket, [...head, "", body].join("\r\n"));
}
