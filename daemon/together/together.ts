import type { Place, TogetherFromClient, TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import type { WebSocket } from "ws";
import type { UpgradeRoute } from "../http/route.ts";
import { acceptSocket, parseMessage } from "../http/sockets.ts";
import { createPeople } from "./people.ts";
import { createSharedFiles, type TextPage } from "./shared-files.ts";
import { createViewerLimits } from "./viewer-limits.ts";

const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
const MAX_PATH_LENGTH = 4096;
const TRY_AGAIN_LATER = 1013;

// Connects the pages of the workspace with each other.
export function togetherRoutes(): UpgradeRoute[] {
  const sockets = new Map<WebSocket, string>();
  const files = createSharedFiles();
  const viewers = createViewerLimits();
  const people = createPeople({
    onChange() {
      const list = people.list();
      for (const [socket, you] of sockets) send(socket, { type: "people", you, people: list });
    },
    onMove(moved) {
      const text = JSON.stringify({ type: "moved", people: moved } satisfies TogetherFromDaemon);
      for (const socket of sockets.keys()) sendText(socket, text);
    },
  });

  return [
    {
      path: "/together",
      upgrade: (call) =>
        acceptSocket(call, (socket) => {
          if (!viewers.admit(call.request, socket)) return socket.close(TRY_AGAIN_LATER, "too many pages of one viewer are open");
          const present = people.join(call.request);
          const page: TextPage = { isViewer: present.isViewer, send: (message) => send(socket, message) };
          sockets.set(socket, present.id);
          socket.on("close", () => {
            sockets.delete(socket);
            files.leave(page);
            present[Symbol.dispose]();
          });
          socket.on("message", (data) => {
            const message = parseMessage(data) as (TogetherFromClient & Record<string, unknown>) | null;
            if (message?.type === "place") return present.moveTo(placeOf(message.place));
            if (message && isPath(message.path)) receive(page, message);
          });
        }),
    },
  ];

  function receive(page: TextPage, message: Exclude<TogetherFromClient, { type: "place" }>): void {
    switch (message.type) {
      case "open":
        return files.open(page, message.path, message.known);
      case "close":
        return files.close(page, message.path);
      case "text":
        return files.give(page, message.path, typeof message.text === "string" ? message.text : null);
      case "push":
        return files.push(page, message.path, message);
      case "claim":
        if (typeof message.etag === "string" && message.etag.length <= 200) files.claim(page, message.path, message.etag);
    }
  }
}

const send = (socket: WebSocket, message: TogetherFromDaemon) => sendText(socket, JSON.stringify(message));

// Disconnects a browser that is too far behind. It reconnects and continues with the latest version.
function sendText(socket: WebSocket, text: string): void {
  if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
  else socket.send(text);
}

const isPath = (path: unknown): path is string => typeof path === "string" && path !== "" && path.length <= MAX_PATH_LENGTH;

function placeOf(value: unknown): Place | null {
  const { path, selection } = (value ?? {}) as Partial<Place>;
  if (!isPath(path)) return null;
  const isPosition = (at: unknown) => Number.isSafeInteger(at) && (at as number) >= 0;
  const isKnown = isPosition(selection?.anchor) && isPosition(selection?.head);
  return { path, selection: selection && isKnown ? { anchor: selection.anchor, head: selection.head } : null };
}
