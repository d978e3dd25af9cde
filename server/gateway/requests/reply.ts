import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { endSocketWithReply, toErrorReply } from "../../error-reply.ts";

// The gateway's replies other than pages and relayed responses.
export function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" }, JSON.stringify(body));
}

export function sendError(response: ServerResponse, error: unknown): void {
  const { status, headers, body } = toErrorReply(error);
  send(response, status, headers, body);
}

// Refuses an upgrade with an error of ours.
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  socket.on("error", () => socket.destroy());
  endSocketWithReply(socket, toErrorReply(error));
}

// Refuses an upgrade with the daemon's status and body.
export function relayRefusal(socket: Duplex, status: number, json: string): void {
  socket.on("error", () => socket.destroy());
  const headers = { "content-type": "application/json; charset=utf-8", ...(status === 503 && { "retry-after": "1" }) };
  endSocketWithReply(socket, { status, headers, body: json });
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text), "x-content-type-options": "nosniff" });
  response.end(response.req.method === "HEAD" ? undefined : text);
}
