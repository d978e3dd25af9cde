import type { SandboxEvent } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import type { UpgradeRoute } from "./route.ts";
import { acceptSocket } from "./sockets.ts";

// Sends changes in the sandbox to open browsers. Events for a slow browser are dropped; it gets `hello`, with the complete
// state, when it reads again.
export interface Events {
  upgrades: UpgradeRoute[];
  send(event: SandboxEvent): void;
}

export interface EventsDeps {
  hello: () => SandboxEvent;
  // Called when the first browser connects and when the last one disconnects, because watching for changes has a cost.
  onFirstListener: () => void;
  onLastListenerGone: () => void;
}

const MAX_BUFFERED_BYTES = 256 * 1024;

export function createEvents({ hello, onFirstListener, onLastListenerGone }: EventsDeps): Events {
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
            if (sockets.size === 1) onFirstListener();
            socket.send(JSON.stringify(hello()));
            socket.on("close", () => {
              sockets.delete(socket);
              if (sockets.size === 0) onLastListenerGone();
            });
          }),
      },
    ],
  };

  function deliver(socket: WebSocket, state: { missed: boolean }, event: SandboxEvent): void {
    if (state.missed) return;
    if (socket.bufferedAmount < MAX_BUFFERED_BYTES) return socket.send(JSON.stringify(event));
    state.missed = true;
    // The ping is queued behind the buffered messages, so the client is reading again once it has been sent.
    socket.ping(undefined, undefined, () => {
      state.missed = false;
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(hello()));
    });
  }
}
