import type { IncomingMessage } from "node:http";
import { NAME_HEADER } from "@berth/contract/workspace/visitor.ts";
import type { WebSocket } from "ws";
import { isViewer } from "../http/viewers.ts";
import { uptimeMs } from "../io/uptime.ts";

// Limits what the viewers with one name may cost the others in the sandbox: their pages, and how fast their messages are read. An editor
// has a terminal, so a limit here would not stop one.
export interface ViewerLimits {
  // False: the page is one too many. Otherwise its messages are read at the viewer's pace until it closes.
  admit(request: IncomingMessage, socket: WebSocket): boolean;
}

const MAX_PAGES = 16;
const MESSAGES_PER_SECOND = 40;
const BURST = 200;

export function createViewerLimits(): ViewerLimits {
  const viewers = new Map<string, Viewer>();
  return {
    admit(request, socket) {
      if (!isViewer(request)) return true;
      const name = String(request.headers[NAME_HEADER] ?? "");
      const viewer = viewers.get(name) ?? { pages: 0, readableAt: 0 };
      if (viewer.pages >= MAX_PAGES) return false;
      viewers.set(name, viewer);
      viewer.pages++;
      socket.once("close", () => void (--viewer.pages === 0 && viewers.delete(name)));
      socket.on("message", () => slowDown(viewer, socket));
      return true;
    },
  };
}

interface Viewer {
  pages: number;
  // When all messages would have been read, had they come at the allowed pace.
  readableAt: number;
}

function slowDown(viewer: Viewer, socket: WebSocket): void {
  const now = uptimeMs();
  viewer.readableAt = Math.max(viewer.readableAt, now) + 1000 / MESSAGES_PER_SECOND;
  const aheadMs = viewer.readableAt - now - (BURST * 1000) / MESSAGES_PER_SECOND;
  if (aheadMs <= 0 || socket.isPaused) return;
  socket.pause();
  setTimeout(() => socket.resume(), aheadMs).unref();
}
