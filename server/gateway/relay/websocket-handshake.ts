import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "@berth/contract";
import { endSocket } from "../../bounded-io/end-socket.ts";
import { closeFrame } from "./websocket-frames.ts";

export function requireHandshake(request: IncomingMessage): void {
  const { upgrade, "sec-websocket-key": key, "sec-websocket-version": version } = request.headers;
  const isHandshake =
    request.method === "GET" && upgrade?.toLowerCase() === "websocket" && version === "13" && /^[A-Za-z0-9+/]{22}==$/.test(key ?? "");
  if (!isHandshake) throw new AppError("validation_failed", { message: "This is not a WebSocket handshake" });
}

// The handshake headers that reach the daemon. Extensions are dropped because the gateway relays frames unchanged.
export function handshakeHeaders(request: IncomingMessage): Record<string, string> {
  const protocol = request.headers["sec-websocket-protocol"];
  return {
    "sec-websocket-key": request.headers["sec-websocket-key"] ?? "",
    "sec-websocket-version": "13",
    ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
  };
}

// The 101 response. Of the daemon's own response, only a subprotocol that the caller offered is kept.
export function acceptHandshake(request: IncomingMessage, chosenProtocol?: string): string {
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const protocol = chosenProtocol !== undefined && offered.includes(chosenProtocol) ? [`Sec-WebSocket-Protocol: ${chosenProtocol}`] : [];
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...protocol,
    "",
    "",
  ].join("\r\n");
}

// Accepts the handshake only to send a close frame: a page can read close codes, but not the reply to a refused upgrade.
export function acceptAndClose(request: IncomingMessage, socket: Duplex, code: number, reason: string): void {
  socket.write(acceptHandshake(request));
  endSocket(socket, closeFrame(code, reason));
}
