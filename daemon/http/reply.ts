import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { toAppError } from "./errors.ts";

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": bytes.length,
    "Cache-Control": "no-store",
  });
  response.end(bytes);
}

export function sendError(response: ServerResponse, thrown: unknown): void {
  const error = toAppError(thrown, response.req);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The code is a header too, so that a relay can read it without parsing the body.
  response.setHeader("X-Error-Code", error.code);
  if (error.retryAfterSeconds !== undefined) response.setHeader("Retry-After", error.retryAfterSeconds);
  sendJson(response, error.status, { error: error.message, code: error.code });
}

export function refuseUpgrade(socket: Duplex, thrown: unknown): void {
  const { status, code, message } = toAppError(thrown);
  const body = JSON.stringify({ error: message, code });
  const head = `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  socket.end(head + body);
}
