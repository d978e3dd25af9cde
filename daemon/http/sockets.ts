import { ROLE_HEADER } from "@berth/contract/workspace/visitor.ts";
import { type WebSocket, WebSocketServer } from "ws";
import type { Upgrade } from "./route.ts";
import { isViewer } from "./viewers.ts";

const PING_MS = 5000;
// Tolerate one missed pong: after a freeze the timer fires before the pong that has been waiting in the socket.
const MAX_MISSED = 2;
// A page that does not read its output for a while does not see the pings behind it either.
const MAX_MISSED_BEHIND_OUTPUT = 14;
const MAX_MESSAGE_BYTES = 1024 * 1024;

const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES, clientTracking: false });
// The server relays a viewer only to a daemon that confirms the role.
accepting.on("headers", (headers, request) => {
  if (isViewer(request)) headers.push(`${ROLE_HEADER}: ${String(request.headers[ROLE_HEADER])}`);
});

// Completes the handshake. Pings keep proxies from closing an idle connection, and detect dead peers.
export function acceptSocket({ request, socket, head }: Upgrade, opened: (socket: WebSocket) => void): void {
  accepting.handleUpgrade(request, socket, head, (accepted) => {
    let missed = 0;
    const timer = setInterval(() => {
      if (missed++ >= (accepted.bufferedAmount > 0 ? MAX_MISSED_BEHIND_OUTPUT : MAX_MISSED)) accepted.terminate();
      else accepted.ping();
    }, PING_MS);
    accepted.on("pong", () => (missed = 0));
    accepted.on("close", () => clearInterval(timer));
    accepted.on("error", () => {});
    opened(accepted);
  });
}

// Parses a text frame that contains an object with a `type`. Returns null for anything else.
export function parseMessage(data: unknown): { type: string; [field: string]: unknown } | null {
  try {
    const message: unknown = JSON.parse(String(data));
    return typeof message === "object" && message !== null && "type" in message && typeof message.type === "string"
      ? { ...message, type: message.type }
      : null;
  } catch {
    return null;
  }
}
