import type { ServerResponse } from "node:http";

// Events for one client, which reads them at its own pace. `id: null` is for an event after which the stream cannot be continued.
export interface EventSource {
  // null: there is none yet. "over": there will be no more.
  next(): NumberedEvent | null | "over";
  // Calls back when `next` may have something new, until disposed.
  onNews(listener: () => void): Disposable;
}

export interface NumberedEvent {
  id: string | null;
  // JSON.
  data: string;
}

// Proxies close connections on which nothing is sent for long.
const KEEP_ALIVE_MS = 15_000;

// Sends server-sent events until the source is over or the client is gone.
export async function sendEvents(response: ServerResponse, source: EventSource): Promise<void> {
  response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" });
  response.flushHeaders();
  let wake = () => {};
  const change = () => new Promise<void>((resolve) => (wake = resolve));
  using _news = source.onNews(() => response.writableNeedDrain || wake());
  response.on("drain", () => wake());
  response.once("close", () => wake());
  const keepAlive = setInterval(() => response.write(": still here\n\n"), KEEP_ALIVE_MS);
  while (!response.destroyed) {
    const event = source.next();
    if (event === "over") break;
    if (!event || !send(response, event)) await change();
  }
  clearInterval(keepAlive);
  response.end();
}

function send(response: ServerResponse, { id, data }: NumberedEvent): boolean {
  return response.write(`${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}
