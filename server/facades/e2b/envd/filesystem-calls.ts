import { isAppError } from "@berth/contract";
import type { FileDetails, FileTree, WatchedChange, WatchEvent, Watcher, WatcherEvents } from "@berth/contract/daemon/files.ts";
import { splitLines } from "../../../bounded-io/split-lines.ts";
import { beginStream, invalid, sendMessage, type Json } from "./connect.ts";
import type { DaemonCalls } from "../../daemon-calls.ts";
import { drained, type StreamCall } from "./process-calls.ts";

// E2B's service `filesystem.Filesystem`, over the files of the sandbox.

// The metadata of a file are its extended attributes of this name space.
export const ATTRIBUTE_PREFIX = "user.e2b.";

type Unary = (body: Json, calls: DaemonCalls) => Promise<object>;

const DETAILS = { name: "string", path: "string", type: "string", size: "number", modifiedAtMs: "number", mode: "number" } as const;
const CHANGE = { type: "string", path: "string" } as const;
const MAX_LINE_LENGTH = 64 * 1024;

export const FILESYSTEM_CALLS: Record<string, Unary> = {
  Stat: async (body, calls) => ({ entry: await stat(calls, pathOf(body)) }),

  async ListDir(body, calls) {
    const depth = (body["depth"] as number | undefined) ?? 1;
    if (!Number.isInteger(depth) || depth < 0) throw invalid("depth should be at least one");
    const query = { path: pathOf(body), depth: String(Math.max(1, depth)), attributes: ATTRIBUTE_PREFIX };
    const { entries } = await calls.read<FileTree>("GET", "/files/tree", { entries: [DETAILS] }, { query });
    return { entries: entries.map(toEntry) };
  },

  async MakeDir(body, calls) {
    const path = pathOf(body);
    await calls.call("POST", "/files/folder", { headers: { "if-none-match": "*" }, body: { path } });
    return { entry: await stat(calls, path) };
  },

  async Move(body, calls) {
    const [from, to] = [pathOf(body, "source"), pathOf(body, "destination")];
    await calls.call("POST", "/files/move", { body: { from, to, overwrite: true } });
    return { entry: await stat(calls, to) };
  },

  async Remove(body, calls) {
    await calls.call("DELETE", "/files", { query: { path: pathOf(body) } }).catch((error: unknown) => {
      if (!isAppError(error, "not_found")) throw error;
    });
    return {};
  },

  async CreateWatcher(body, calls) {
    const { id } = await calls.read<Watcher>("POST", "/files/watchers", { id: "string" }, { query: watchQuery(body) });
    // The daemon knows nothing of entries, so that the id says whether the caller wants them, and of which folder.
    const suffix = body["includeEntry"] === true ? `.${Buffer.from(pathOf(body)).toString("base64url")}` : "";
    return { watcherId: `${id}${suffix}` };
  },

  async GetWatcherEvents(body, calls) {
    const { id, folder } = parseWatcher(body);
    const { events } = await calls.read<WatcherEvents>("GET", `/files/watchers/${id}`, { events: [CHANGE] });
    const messages = [];
    for (const event of events) messages.push(await toEvent(event, folder, calls));
    return { events: messages };
  },

  async RemoveWatcher(body, calls) {
    await calls.call("DELETE", `/files/watchers/${parseWatcher(body).id}`);
    return {};
  },
};

export async function watchDir(body: Json, call: StreamCall): Promise<void> {
  const { calls, response, keepAliveMs, admitBytes } = call;
  const changes = await calls.open("GET", "/files/watch", { query: watchQuery(body) });
  const folder = body["includeEntry"] === true ? pathOf(body) : null;
  beginStream(response);
  const keepAlive = setInterval(() => sendMessage(response, { keepalive: {} }), keepAliveMs);
  try {
    for await (const line of splitLines(changes.body, MAX_LINE_LENGTH)) {
      const event = JSON.parse(line) as WatchEvent;
      const message = event.type === "start" ? { start: {} } : { filesystem: await toEvent(event, folder, calls) };
      if (!sendMessage(response, message)) await drained(response);
      if (response.destroyed) return;
      await admitBytes(line.length);
    }
  } catch {
    // The same as its end: the sandbox was paused or is gone.
  } finally {
    clearInterval(keepAlive);
    changes.body.destroy();
    response.destroy();
  }
}

async function toEvent({ type, path }: WatchedChange, folder: string | null, calls: DaemonCalls) {
  const entry = folder === null ? null : await stat(calls, `${folder}/${path}`).catch(() => null);
  return { name: path, type: `EVENT_TYPE_${type.toUpperCase()}`, ...(entry && { entry }) };
}

async function stat(calls: DaemonCalls, path: string) {
  return toEntry(await calls.read<FileDetails>("GET", "/files/stat", DETAILS, { query: { path, attributes: ATTRIBUTE_PREFIX } }));
}

const TYPES: Record<FileDetails["type"], string> = {
  file: "FILE_TYPE_FILE",
  folder: "FILE_TYPE_DIRECTORY",
  link: "FILE_TYPE_SYMLINK",
  other: "FILE_TYPE_UNSPECIFIED",
};

const toEntry = ({ name, path, type, size, modifiedAtMs, mode, owner, group, target, attributes }: FileDetails) => ({
  name,
  path,
  type: TYPES[type],
  size: String(size),
  mode: mode & 0o777,
  permissions: permissionsOf(type, mode, target !== undefined),
  owner,
  group,
  modifiedTime: new Date(Math.max(0, Math.min(modifiedAtMs, MAX_TIME_MS))).toISOString(),
  ...(target !== undefined && { symlinkTarget: target }),
  metadata: attributes ?? {},
});

// The last one that a Timestamp can have.
const MAX_TIME_MS = Date.UTC(9999, 11, 31);

// As `ls -l` writes them, with Go's letter for a link.
function permissionsOf(type: FileDetails["type"], mode: number, isLink: boolean): string {
  const letters = "rwxrwxrwx"
    .split("")
    .map((letter, i) => ((mode >> (8 - i)) & 1 ? letter : "-"))
    .join("");
  return `${isLink ? "L" : type === "folder" ? "d" : "-"}${letters}`;
}

const watchQuery = (body: Json) => ({ path: pathOf(body), recursive: body["recursive"] === true ? "true" : undefined });

function parseWatcher({ watcherId }: Json): { id: string; folder: string | null } {
  const [, id, folder] = /^(watch_[0-9a-f]{16})(?:\.([\w-]+))?$/.exec(String(watcherId)) ?? [];
  if (id === undefined) throw invalid("watcherId is required");
  return { id, folder: folder === undefined ? null : Buffer.from(folder, "base64url").toString() };
}

function pathOf(body: Json, field = "path"): string {
  const path = body[field];
  if (typeof path !== "string" || path === "") throw invalid(`${field} is required`);
  return path;
}
