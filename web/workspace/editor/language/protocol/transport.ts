import type { Transport } from "@codemirror/lsp-client";

interface Message {
  id?: string | number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

export interface ServerTransport extends Transport {
  // A message from the server.
  receive(text: string): void;
  // The connection is lost. Requests that are not answered get an empty answer, so that nothing waits for them.
  lost(): void;
}

export interface TransportOptions {
  send: (text: string) => void;
  // For `initialize`.
  workspaceFolders: { uri: string; name: string }[];
  // Answers a request of the server, at once or later.
  answer: (method: string, params: unknown) => unknown;
}

// Requests that the editor makes by itself while a person types or points. If one fails, the editor just shows nothing.
const QUIET = new Set(["textDocument/completion", "completionItem/resolve", "textDocument/hover", "textDocument/signatureHelp"]);

// Connects the client library with our socket, and handles what the library does not: requests of the server and failed
// requests that no person started.
export function createTransport({ send, workspaceFolders, answer }: TransportOptions): ServerTransport {
  const handlers = new Set<(text: string) => void>();
  const pending = new Map<string | number, string>();
  const deliver = (message: Message | string) => {
    const text = typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message });
    for (const handler of handlers) handler(text);
  };

  async function reply(id: string | number, method: string, params: unknown): Promise<void> {
    const result = await answer(method, params);
    send(JSON.stringify({ jsonrpc: "2.0", id, result: result ?? null }));
  }

  return {
    send(text) {
      const message = JSON.parse(text) as Message;
      const { id, method, params } = message;
      if (id !== undefined && method !== undefined) pending.set(id, method);
      // The library sends only the deprecated `rootUri`, with which some servers do not see files that are not open.
      if (method === "initialize") send(JSON.stringify({ ...message, params: { ...(params as object), workspaceFolders } }));
      else send(text);
    },
    subscribe: (handler) => void handlers.add(handler),
    unsubscribe: (handler) => void handlers.delete(handler),
    receive(text) {
      const message = JSON.parse(text) as Message;
      const { id, method } = message;
      if (id === undefined) return deliver(text);
      if (method !== undefined) return void reply(id, method, message.params);
      const asked = pending.get(id);
      // Answered already, or a second answer.
      if (asked === undefined) return;
      pending.delete(id);
      // Without an answer, the client waits like one without a server. With the error, the library would report every waiting request.
      if (message.error !== undefined && asked === "initialize") return;
      if (message.error !== undefined && QUIET.has(asked)) deliver({ id, result: null });
      else deliver(text);
    },
    lost() {
      for (const [id, method] of pending) if (method !== "initialize") deliver({ id, result: null });
      pending.clear();
    },
  };
}
