import { CLOSE } from "@berth/contract/daemon.ts";
import type { Language, LanguageServer } from "@berth/contract/daemon/languages.ts";
import { createBackoff } from "../../../connection/backoff.ts";
import { connectSocket } from "../../../connection/socket.ts";
import type { Uses } from "../../../actions/actions.ts";

export interface ConnectionHandlers {
  // A server has started for this connection.
  onServer: (server: LanguageServer) => void;
  onMessage: (text: string) => void;
  onLost: () => void;
  // There is no server, or it keeps failing. Nothing follows.
  onEnd: (why: "none" | "failed") => void;
}

export interface LanguageConnection {
  send(text: string): void;
  // Starts the server again if it was stopped because it was not used.
  wake(): void;
}

// The daemon accepts messages up to 1 MiB.
const MAX_MESSAGE_CHARS = 340_000;
const MAX_FAILURES = 4;
// A run of at least this length resets the count of failures.
const GOOD_RUN_MS = 30_000;

// The connection to a language server in the sandbox. A lost connection is replaced, and a server that failed is started again
// after a while, but only a few times.
export function connectLanguage(
  { api, connections }: Uses<"api" | "connections">,
  language: Language,
  handlers: ConnectionHandlers,
): LanguageConnection {
  const backoff = createBackoff({ firstMs: 500, maxMs: 10_000 });
  let startedAtMs: number | null = null;
  let failures = 0;
  let isIdle = false;

  const socket = connectSocket({
    url: () => api.socketUrl(`languages/${language}`),
    onText(text) {
      if (startedAtMs !== null) return handlers.onMessage(text);
      startedAtMs = Date.now();
      isIdle = false;
      handlers.onServer(JSON.parse(text) as LanguageServer);
    },
    onDisconnected({ code }) {
      const ranMs = startedAtMs === null ? 0 : Date.now() - startedAtMs;
      if (startedAtMs !== null) handlers.onLost();
      startedAtMs = null;
      if (code === CLOSE.noLanguageServer) return end("none");
      isIdle = code === CLOSE.languageServerIdle;
      if (code !== CLOSE.languageServerFailed) return;
      failures = ranMs > GOOD_RUN_MS ? 1 : failures + 1;
      if (failures >= MAX_FAILURES) return end("failed");
      setTimeout(socket.retryNow, backoff.nextMs());
    },
  });
  const listed = connections.add(socket);

  return {
    send(text) {
      // A larger message would end the connection, and the next attempt would repeat it.
      if (text.length < MAX_MESSAGE_CHARS) socket.send(text);
      else end("failed");
    },
    wake() {
      if (isIdle) socket.retryNow();
      isIdle = false;
    },
  };

  function end(why: "none" | "failed"): void {
    listed[Symbol.dispose]();
    socket[Symbol.dispose]();
    handlers.onEnd(why);
  }
}
