import { STREAM_KEEP_ALIVE_MS, type WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { createBackoff, type Backoff } from "./backoff.ts";
import { readLines } from "./read-lines.ts";

export interface SessionStreamOptions {
  url: string;
  onSession: (session: WorkspaceSession) => void;
  // The server cannot be reached. The stream keeps trying.
  onDisconnected: () => void;
  // The cookie is no longer valid. The person needs a new launch URL.
  onSignedOut: () => void;
  // The session no longer exists.
  onGone: () => void;
  send?: typeof fetch;
  backoff?: Backoff;
  // The server writes often, so a stream that is silent for longer is dead.
  silenceMs?: number;
}

export interface SessionStream extends Disposable {
  // Skips the wait before the next attempt.
  retryNow: () => void;
}

// Follows the state of the session. It uses fetch because EventSource hides the HTTP status of an error.
export function followSession(options: SessionStreamOptions): SessionStream {
  const { send = (...args) => fetch(...args), backoff = createBackoff(), silenceMs = 2.4 * STREAM_KEEP_ALIVE_MS } = options;
  const stopped = new AbortController();
  let wake = () => {};
  void follow();
  return {
    retryNow: () => {
      backoff.reset();
      wake();
    },
    [Symbol.dispose]: () => {
      stopped.abort();
      wake();
    },
  };

  async function follow(): Promise<void> {
    while (!stopped.signal.aborted) {
      const end = await readOnce();
      if (stopped.signal.aborted) return;
      if (end === "signedOut") return options.onSignedOut();
      if (end === "gone") return options.onGone();
      options.onDisconnected();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, backoff.nextMs());
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async function readOnce(): Promise<"disconnected" | "signedOut" | "gone"> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), silenceMs);
    try {
      const signal = AbortSignal.any([silent.signal, stopped.signal]);
      const response = await send(options.url, { headers: { accept: "text/event-stream" }, cache: "no-store", signal });
      if (response.status === 401 || response.status === 403) return "signedOut";
      if (response.status === 404 || response.status === 410) return "gone";
      if (!response.ok || !response.body) return "disconnected";
      for await (const line of readLines(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), silenceMs);
        if (!line.startsWith("data:")) continue;
        backoff.reset();
        const session = JSON.parse(line.slice("data:".length)) as WorkspaceSession;
        options.onSession(session);
        if (session.status === "destroyed") return "gone";
      }
      return "disconnected";
    } catch {
      return "disconnected";
    } finally {
      clearTimeout(timer);
    }
  }
}
