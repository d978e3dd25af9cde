import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import type { WatchedChange, WatchEvent, Watcher, WatcherEvents } from "@berth/contract/daemon/files.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Call, Route } from "../http/route.ts";
import type { Bases } from "./bases.ts";
import { watchFolder, type FolderWatchOptions } from "./folder-watch.ts";

const MAX_WATCHERS = 64;
const MAX_EVENTS = 10_000;
// A caller that does not read gets no more events than this, and then the response ends.
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
// Proxies close connections on which nothing is sent for long.
const KEEP_ALIVE_MS = 15_000;

// Watches of a folder: as a stream, or for callers that poll.
export function watchRoutes({ bases }: { bases: Bases }): Route[] {
  const watchers = new Map<string, Disposable & WatcherEvents>();
  let streams = 0;
  const requireRoom = () => {
    if (watchers.size + streams >= MAX_WATCHERS)
      throw new AppError("too_many", { message: `There are already ${MAX_WATCHERS} watchers; remove one first` });
  };
  const found = ({ params }: Call) => {
    const watcher = watchers.get(params["id"] ?? "");
    if (!watcher) throw notFound("There is no such watcher");
    return watcher;
  };

  return [
    {
      method: "GET",
      path: "/files/watch",
      async handle(call) {
        requireRoom();
        streams++;
        const { response } = call;
        response.once("close", () => streams--);
        const send = (event: WatchEvent) => {
          if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
          else response.write(`${JSON.stringify(event)}\n`);
        };
        using _watch = await begin(call, send);
        if (response.destroyed) return;
        response.writeHead(200, { "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store" });
        send({ type: "start" });
        const keepAlive = setInterval(() => response.write("\n"), KEEP_ALIVE_MS);
        await new Promise((resolve) => response.once("close", resolve));
        clearInterval(keepAlive);
      },
    },
    {
      method: "POST",
      path: "/files/watchers",
      async handle(call) {
        requireRoom();
        const kept: WatcherEvents = { events: [], overflow: false };
        const folderWatch = await begin(call, (change) => {
          if (kept.events.push(change) <= MAX_EVENTS) return;
          kept.events.shift();
          kept.overflow = true;
        });
        const id = `watch_${randomBytes(8).toString("hex")}`;
        watchers.set(id, Object.assign(kept, { [Symbol.dispose]: () => folderWatch[Symbol.dispose]() }));
        sendJson(call.response, 201, { id } satisfies Watcher);
      },
    },
    {
      method: "GET",
      path: "/files/watchers/:id",
      handle(call) {
        const watcher = found(call);
        const { events, overflow } = watcher;
        watcher.events = [];
        watcher.overflow = false;
        sendJson(call.response, 200, { events, overflow } satisfies WatcherEvents);
      },
    },
    {
      method: "DELETE",
      path: "/files/watchers/:id",
      handle(call) {
        found(call)[Symbol.dispose]();
        watchers.delete(call.params["id"] ?? "");
        call.response.writeHead(204).end();
      },
    },
  ];

  async function begin(call: Call, onChange: (change: WatchedChange) => void): Promise<Disposable> {
    const path = await bases.of(call).folderPath(call.query.get("path") ?? "");
    if (!(await stat(path)).isDirectory()) throw badRequest("The path is not a folder");
    return watchFolder(path, { recursive: call.query.get("recursive") === "true", onChange } satisfies FolderWatchOptions);
  }
}
