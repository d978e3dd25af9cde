import type { BigIntStats, Dirent, Stats } from "node:fs";
import { lstat, mkdir, opendir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FileEntry, FolderListing, NamedEntry, NameListing } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { readJson } from "../http/body.ts";
import { badRequest, systemCode } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import type { Bases } from "./bases.ts";
import { copy } from "./copy.ts";
import { move } from "./move.ts";
import { sortNaturally } from "./natural-order.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";
import { parsePath, type Pinned, type WorkspaceFolder } from "./workspace-folder.ts";

const MAX_ENTRIES = 10_000;
const CONCURRENCY = 64;
const READ_AT_ONCE = 512;

export interface FilesDeps {
  bases: Bases;
  // Called with each folder of the workspace that a browser lists.
  onList: (path: string) => void;
}

// Lists folders, and creates, moves and deletes files and folders. content.ts reads and writes the bytes of files.
export function fileRoutes({ bases, onList }: FilesDeps): Route[] {
  return [
    {
      method: "GET",
      path: "/files",
      async handle(call) {
        const { query, response } = call;
        const path = query.get("path") ?? "";
        const base = bases.of(call);
        const listing = await (query.get("details") === "names" ? listNames(base, path) : list(base, path));
        if (base === bases.workspace) onList(parsePath(path));
        sendJson(response, 200, listing);
      },
    },
    {
      method: "DELETE",
      path: "/files",
      async handle(call) {
        await remove(bases.of(call), requiredPath(call.query.get("path")));
        call.response.writeHead(204).end();
      },
    },
    {
      method: "POST",
      path: "/files/folder",
      async handle(call) {
        const { path } = await readJson(call.request);
        const created = await makeFolder(bases.of(call), requiredPath(path));
        if (!created && call.request.headers["if-none-match"] === "*")
          throw new AppError("changed", { message: "The folder already exists" });
        sendJson(call.response, 201, { path });
      },
    },
    {
      method: "POST",
      path: "/files/move",
      async handle(call) {
        const { from, to, overwrite = false } = await readJson(call.request);
        if (typeof overwrite !== "boolean") throw badRequest("overwrite must be a boolean");
        await move(bases.of(call), { from: requiredPath(from, "from"), to: requiredPath(to, "to"), overwrite });
        sendJson(call.response, 200, { path: to });
      },
    },
    {
      method: "POST",
      path: "/files/copy",
      async handle(call) {
        const { from, to } = await readJson(call.request);
        await copy(bases.of(call), { from: requiredPath(from, "from"), to: requiredPath(to, "to") });
        sendJson(call.response, 201, { path: to });
      },
    },
    {
      method: "GET",
      path: "/files/archive",
      async handle(call) {
        const { query, response } = call;
        await using folder = await bases.of(call).pin(query.get("path") ?? "");
        if (!(await stat(folder.at)).isDirectory()) throw badRequest("The path is not a folder");
        const { sendArchive } = await import("./archive.ts");
        response.writeHead(200, {
          "Content-Type": "application/zip",
          "Content-Disposition": attachment(`${basename(folder.real) || "workspace"}.zip`),
          "Cache-Control": "no-store",
        });
        await sendArchive(folder.at, response);
      },
    },
  ];
}

export const attachment = (name: string) =>
  `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`;

export function requiredPath(path: unknown, name = "path"): string {
  if (typeof path !== "string" || path === "") throw badRequest(`${name} is required`);
  return path;
}

// Without `lstat` for every file, which takes most of the time of a large folder.
async function listNames(workspace: WorkspaceFolder, path: string): Promise<NameListing> {
  await using folder = await workspace.pin(path);
  const { found, truncated } = await readEntries(folder);
  const entries: NamedEntry[] = [];
  for (const dirent of found) {
    const entry: NamedEntry = { name: dirent.name, type: typeOf(dirent) };
    const target = entry.type === "link" ? await targetOf(workspace, join(folder.real, entry.name)) : null;
    entries.push(target === null ? entry : { ...entry, target });
  }
  return { path, entries: inOrder(entries).map((entry) => (entry.type === "file" ? entry.name : entry)), truncated };
}

async function readEntries(folder: Pinned): Promise<{ found: Dirent[]; truncated: boolean }> {
  const found: Dirent[] = [];
  // The trailing slash opens the pinned folder; without it, the pin is a symbolic link.
  for await (const entry of await opendir(`${folder.at}/`, { bufferSize: READ_AT_ONCE })) {
    if (entry.name.startsWith(TEMPORARY_PREFIX)) continue;
    if (found.length === MAX_ENTRIES) return { found, truncated: true };
    found.push(entry);
  }
  return { found, truncated: false };
}

async function list(workspace: WorkspaceFolder, path: string): Promise<FolderListing> {
  await using folder = await workspace.pin(path);
  const { found, truncated } = await readEntries(folder);
  const entries: FileEntry[] = [];
  for (let i = 0; i < found.length; i += CONCURRENCY) {
    const described = await Promise.all(found.slice(i, i + CONCURRENCY).map(({ name }) => describe(workspace, folder, name)));
    entries.push(...described.filter((entry) => entry !== null));
  }
  return { path, entries: inOrder(entries), truncated };
}

function inOrder<Entry extends NamedEntry>(entries: Entry[]): Entry[] {
  const sorted = sortNaturally(entries, ({ name }) => name);
  return [...sorted.filter(isFolder), ...sorted.filter((entry) => !isFolder(entry))];
}

const isFolder = ({ type, target }: NamedEntry) => type === "folder" || target === "folder";

async function describe(workspace: WorkspaceFolder, folder: Pinned, name: string): Promise<FileEntry | null> {
  try {
    const stats = await lstat(join(folder.at, name), { bigint: true });
    const entry: FileEntry = { name, type: typeOf(stats), size: Number(stats.size), modifiedAtMs: Number(stats.mtimeMs) };
    if (entry.type !== "link") return entry;
    const target = await targetOf(workspace, join(folder.real, name));
    return target === null ? entry : { ...entry, target };
  } catch (error) {
    // The file was deleted after the folder was read.
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

// Null if the link is broken or leads out of the workspace.
async function targetOf(workspace: WorkspaceFolder, path: string): Promise<"file" | "folder" | null> {
  try {
    await using pinned = await workspace.pin(path);
    const stats = await stat(pinned.at);
    return stats.isDirectory() ? "folder" : stats.isFile() ? "file" : null;
  } catch {
    return null;
  }
}

export function typeOf(stats: Stats | BigIntStats | Dirent): FileEntry["type"] {
  if (stats.isDirectory()) return "folder";
  if (stats.isSymbolicLink()) return "link";
  return stats.isFile() ? "file" : "other";
}

// Returns whether it did not exist.
async function makeFolder(workspace: WorkspaceFolder, path: string): Promise<boolean> {
  await using parent = await workspace.pinParent(path, { makeFolders: true });
  try {
    await mkdir(parent.at);
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST" || !(await lstat(parent.at)).isDirectory()) throw error;
    return false;
  }
}

async function remove(workspace: WorkspaceFolder, path: string): Promise<void> {
  await using parent = await workspace.pinParent(path);
  await lstat(parent.at);
  await rm(parent.at, { recursive: true, force: true });
}
