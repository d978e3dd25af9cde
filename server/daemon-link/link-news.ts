import type { SandboxId } from "@berth/contract";
import { createListeners } from "../listeners.ts";
import type { DaemonLinks } from "./daemon-links.ts";

// Daemon links that say which sandboxes have news for the server, or will have.
export interface LinkNews {
  // Calls back when a caller of this server has started a process or a run in a sandbox, and when a sandbox that starts has an outbox to read.
  onNews(listener: (sandboxId: SandboxId) => void): Disposable;
}

const STARTS = ["/processes", "/internal/runs"];

export function withNews(links: DaemonLinks): DaemonLinks & LinkNews {
  const { call: tell, listen: onNews } = createListeners<SandboxId>();
  return {
    ...links,
    async request(sandboxId, request) {
      const response = await links.request(sandboxId, request);
      if (request.method === "POST" && STARTS.includes(request.path) && response.status < 300) tell(sandboxId);
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
