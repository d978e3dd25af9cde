import type { SandboxEvent } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import type { UpgradeRoute } from "./http.ts";
import { acceptSocket } from "./sockets.ts";

// Tells open browsers what changes. Whoever does not keep up is not queued for: it gets `hello` when it reads again.
export interface Events {
  upgrades: UpgradeRoute[];
  send(event: SandboxEvent): void;
}

export interface EventsDeps {
  hello: () => SandboxEvent;
  // Somebody listens, or nobody any more: watching costs something.
  listening: (yes: boolean) => void;
}

const MAX_BUFFERED_BYTES = 256 * 1024;

export function createEvents({ hello, listening }: EventsDeps): Events {
  const sockets = new Map<WebSocket, { missed: boolean }>();

  return {
    send(event) {
      for (const [socket, state] of sockets) deliver(socket, state, event);
    },
    upgrades: [
      {
        path: "/events",
        upgrade: (call) =>
          acceptSocket(call, (socket) => {
            sockets.set(socket, { missed: false });
            if (sockets.size === 1) listening(true);
            socket.send(JSON.stringify(hello()));
            socket.on("close", () => {
              sockets.delete(socket);
              if (sockets.size === 0) listening(false);
            });
          }),
      },
    ],
  };

  function deliver(socket: WebSocket, state: { missed: boolean }, event: SandboxEvent): void {
    if (state.missed) return;
    if (socket.bufferedAmount < MAX_BUFFERED_BYTES) return socket.send(JSON.stringify(event));
    state.missed = true;
    // Queued behind all that came before: when it has gone out, the client is reading again.
    socket.ping(undefined, undefined, () => {
      state.missed = false;
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(hello()));
    });
  }
}
