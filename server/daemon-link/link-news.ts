import type { SandboxId } from "@berth/contract";
import { createListeners } from "../listeners.ts";
import type { DaemonLinks, LinkRequest, LinkResponse } from "./daemon-links.ts";

// Daemon links that say which sandboxes have news for the server, or will have.
export interface LinkNews {
  // Calls back when a caller of this server has started a process or a run in a sandbox, and when a sandbox that starts has an outbox to read.
  onNews(listener: (sandboxId: SandboxId) => void): Disposable;
}

const STARTS = ["/processes", "/internal/runs"];
const MAX_FOLLOWED_MS = 1000;

export function withNews(links: DaemonLinks): DaemonLinks & LinkNews {
  const { call: tell, listen: onNews } = createListeners<SandboxId>();
  return {
    ...links,
    async request(sandboxId, request) {
      const response = await links.request(sandboxId, request);
      if (isStart(request) && response.status < 300) whenQuiet(response, () => tell(sandboxId));
      return response;
    },
    async start(sandboxId, start, options) {
      const started = await links.start(sandboxId, start, options);
      if (started.hasNews) tell(sandboxId);
      return started;
    },
    onNews,
  };
}

// The path may have a query, such as `?encoding=base64`.
const isStart = ({ method, path }: LinkRequest): boolean => method === "POST" && STARTS.includes(path.split("?", 1)[0]!);

// A caller that follows what it has started usually waits for its end. Reading the outbox meanwhile would compete with its output, so that
// waits for the end of the response. But something that takes long, or whose caller does not read, is read like any other.
function whenQuiet({ headers, body }: LinkResponse, callback: () => void): void {
  if (!headers["content-type"]?.startsWith("text/event-stream")) return callback();
  const done = () => {
    clearTimeout(timer);
    body.off("close", done);
    callback();
  };
  const timer = setTimeout(done, MAX_FOLLOWED_MS).unref();
  body.once("close", done);
}
