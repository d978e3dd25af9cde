import type { SandboxId } from "@berth/contract";
import { createListeners } from "../listeners.ts";
import type { DaemonLinks, LinkRequest, LinkResponse } from "./daemon-links.ts";

// Daemon links that say which sandboxes have news for the server, or will have.
export interface LinkNews {
  // Calls back when a caller of this server has started a process or a run in a sandbox, and when a sandbox that starts has an outbox to read.
  onNews(listener: (sandboxId: SandboxId) => void): Disposable;
  // Whether something was started in the sandbox that was not called back yet.
  isNewsDue(sandboxId: SandboxId): boolean;
}

const STARTS = ["/processes", "/internal/runs"];
const MAX_FOLLOWED_MS = 1000;
const QUIET_MS = 100;

export function withNews(links: DaemonLinks): DaemonLinks & LinkNews {
  const { call: tell, listen: onNews } = createListeners<SandboxId>();
  const due = new Set<SandboxId>();
  const soon = new Set<SandboxId>();

  function tellNow(sandboxId: SandboxId): void {
    soon.delete(sandboxId);
    due.delete(sandboxId);
    tell(sandboxId);
  }

  // A caller that has followed something to its end often goes on with the next call at once. Reading the outbox would compete with that
  // one, too, and the ends of several programs are recorded together.
  function tellSoon(sandboxId: SandboxId): void {
    due.add(sandboxId);
    if (soon.has(sandboxId)) return;
    soon.add(sandboxId);
    setTimeout(tellNow, QUIET_MS, sandboxId).unref();
  }

  return {
    ...links,
    async request(sandboxId, request) {
      const response = await links.request(sandboxId, request);
      if (!isStart(request) || response.status >= 300) return response;
      if (!isFollowed(response)) tell(sandboxId);
      else {
        due.add(sandboxId);
        onceFollowed(response, { ended: () => tellSoon(sandboxId), takesLong: () => tellNow(sandboxId) });
      }
      return response;
    },
    async start(sandboxId, start, options) {
      const started = await links.start(sandboxId, start, options);
      if (started.hasNews) tell(sandboxId);
      return started;
    },
    onNews,
    isNewsDue: (sandboxId) => due.has(sandboxId),
  };
}

// The path may have a query, such as `?encoding=base64`.
const isStart = ({ method, path }: LinkRequest): boolean => method === "POST" && STARTS.includes(path.split("?", 1)[0]!);

const isFollowed = ({ headers }: LinkResponse): boolean => headers["content-type"]?.startsWith("text/event-stream") ?? false;

// A caller that follows what it has started usually waits for its end. Reading the outbox meanwhile would compete with its output. But
// something that takes long, or whose caller does not read, is read like any other.
function onceFollowed({ body }: LinkResponse, { ended, takesLong }: { ended: () => void; takesLong: () => void }): void {
  const onClose = () => {
    clearTimeout(timer);
    ended();
  };
  const timer = setTimeout(() => {
    body.off("close", onClose);
    takesLong();
  }, MAX_FOLLOWED_MS).unref();
  body.once("close", onClose);
}
