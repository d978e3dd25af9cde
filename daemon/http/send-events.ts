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
  let wake = () => {};
  const change = () => new Promise<void>((resolve) => (wake = resolve));
  using _news = source.onNews(() => response.writableNeedDrain || wake());
  response.on("drain", () => wake());
  response.once("close", () => wake());
  keepAlive(response);
  for (let isFirst = true; !response.destroyed; isFirst = false) {
    const event = source.next();
    if (event === "over") break;
    // Otherwise the head goes with the first event.
    if (!event && isFirst) response.flushHeaders();
    if (!event || !send(response, event)) await change();
  }
  open.delete(response);
  response.end();
}

// One timer for all streams. It ends when there is none.
const open = new Set<ServerResponse>();
let timer: NodeJS.Timeout | null = null;

function keepAlive(response: ServerResponse): void {
  open.add(response);
  timer ??= setInterval(() => {
    for (const one of open) one.write(": still here\n\n");
    if (open.size > 0 || !timer) return;
    clearInterval(timer);
    timer = null;
  }, KEEP_ALIVE_MS).unref();
}

function send(response: ServerResponse, { id, data }: NumberedEvent): boolean {
  return response.write(`${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}
