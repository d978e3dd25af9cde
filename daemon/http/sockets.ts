import { type WebSocket, WebSocketServer } from "ws";
import type { Upgrade } from "./http.ts";

const PING_MS = 25_000;
const MAX_MESSAGE_BYTES = 1024 * 1024;

const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES, clientTracking: false });

// Finishes the handshake. Pings keep proxies on the way from cutting a silent line, and find dead peers.
export function acceptSocket({ request, socket, head }: Upgrade, opened: (socket: WebSocket) => void): void {
  accepting.handleUpgrade(request, socket, head, (accepted) => {
    let missed = 0;
    const timer = setInterval(() => {
      // Two, not one: after a freeze this timer comes before the answer that has been waiting all the while.
      if (missed++ >= 2) accepted.terminate();
      else accepted.ping();
    }, PING_MS);
    accepted.on("pong", () => (missed = 0));
    accepted.on("close", () => clearInterval(timer));
    accepted.on("error", () => {});
    opened(accepted);
  });
}

// A text frame as an object with a `type`, or null when it is nothing of that kind.
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
