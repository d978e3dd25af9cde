import { randomBytes } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { access, type FileHandle, lstat, open, rename, rm, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { WrittenFile } from "@berth/contract/daemon.ts";
import { attachment, requiredPath } from "./files.ts";
import { errorCode, Fault, type Route, sendJson } from "../http/http.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";
import { syncFolder, type Workspace } from "./workspace.ts";

// The bytes of files, streamed both ways: nothing here holds a whole file.
export function contentRoutes({ workspace }: { workspace: Workspace }): Route[] {
  const read =
    (withBody: boolean): Route["handle"] =>
    async (call) => {
      const path = requiredPath(call.query.get("path"));
      await readContent(workspace, path, call.request, call.response, { withBody, download: call.query.has("download") });
    };
  return [
    { method: "GET", path: "/files/content", handle: read(true) },
    { method: "HEAD", path: "/files/content", handle: read(false) },
    {
      method: "PUT",
      path: "/files/content",
      async handle({ request, response, query }) {
        const { created, ...written } = await writeContent(workspace, requiredPath(query.get("path")), request);
        response.setHeader("ETag", written.etag);
        sendJson(response, created ? 201 : 200, written);
      },
    },
  ];
}

// Two files with the same tag have the same bytes, short of somebody setting the clock back by hand.
export const etagOf = (stats: BigIntStats) => `"${stats.mtimeNs.toString(36)}-${stats.size.toString(36)}-${stats.ino.toString(36)}"`;

interface ReadOptions {
  withBody: boolean;
  download: boolean;
}

async function readContent(workspace: Workspace, path: string, request: IncomingMessage, response: ServerResponse, options: ReadOptions) {
  await using pinned = await workspace.pin(path);
  const file = await openRegular(pinned.at);
  try {
    const stats = await file.stat({ bigint: true });
    const etag = etagOf(stats);
    const size = Number(stats.size);
    response.setHeader("ETag", etag);
    response.setHeader("Last-Modified", stats.mtime.toUTCString());
    response.setHeader("Accept-Ranges", "bytes");
    response.setHeader("Cache-Control", "no-cache");
    // What is in a file never becomes a page of ours, whatever the file claims to be.
    response.setHeader("Content-Type", "application/octet-stream");
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (options.download) response.setHeader("Content-Disposition", attachment(basename(path)));
    if (request.headers["if-none-match"] === etag) return void response.writeHead(304).end();

    const wanted = request.headers["if-range"] === undefined || request.headers["if-range"] === etag ? request.headers.range : undefined;
    const range = parseRange(wanted, size);
    if (range === "unsatisfiable") {
      response.setHeader("Content-Range", `bytes */${size}`);
      throw new Fault(416, "range", "The file is shorter than the range asked for");
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    if (range) response.setHeader("Content-Range", `bytes ${start}-${end}/${size}`);
    response.writeHead(range ? 206 : 200, { "Content-Length": end - start + 1 });
    if (!options.withBody || end < start) return void response.end();
    // `end` holds the promise of Content-Length even when the file grows meanwhile; when it shrinks the connection breaks.
    await pipeline(file.createReadStream({ start, end, autoClose: false, highWaterMark: 256 * 1024 }), response);
  } finally {
    await file.close();
  }
}

// A FIFO or a device would block or never end.
async function openRegular(at: string): Promise<FileHandle> {
  const stats = await stat(at);
  if (stats.isDirectory()) throw new Fault(400, "is_folder", "It is a folder");
  if (!stats.isFile()) throw new Fault(400, "not_a_file", "It is not a regular file");
  return await open(at, constants.O_RDONLY | constants.O_NONBLOCK);
}

type Range = { start: number; end: number } | "unsatisfiable" | null;

// One range only; what we do not understand is ignored, as the standard allows.
export function parseRange(header: string | undefined, size: number): Range {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return null;
  const [first, last] = [match[1] ?? "", match[2] ?? ""];
  if (first === "") return last === "0" || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - Number(last)), end: size - 1 };
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}

async function writeContent(workspace: Workspace, path: string, request: IncomingMessage): Promise<WrittenFile & { created: boolean }> {
  await using parent = await workspace.pinParent(await throughLink(workspace, path), { makeFolders: true });
  const before = await statExisting(parent.at);
  checkConditions(request, before);
  // Replacing asks for no permission of the file's own, but whoever made it read-only meant it.
  if (before) await access(parent.at, constants.W_OK);

  const temporary = join(parent.folder, TEMPORARY_PREFIX + randomBytes(8).toString("hex"));
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  try {
    // Not a stream of the file: closing the file would wait for it for ever.
    await file.writeFile(request);
    // The file keeps its permissions (an executable script stays one).
    if (before) await file.chmod(Number(before.mode) & 0o777).catch(() => {});
    await file.sync();
    // Once more: somebody may have written while the bytes came in.
    checkConditions(request, await statExisting(parent.at));
    await rename(temporary, parent.at);
    await syncFolder(parent.folder);
    const stats = await file.stat({ bigint: true });
    return { path, size: Number(stats.size), modifiedAtMs: Number(stats.mtimeMs), etag: etagOf(stats), created: before === null };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

// Writing to a link writes to the file it names, when that is in the workspace; the link stays a link.
async function throughLink(workspace: Workspace, path: string): Promise<string> {
  try {
    await using pinned = await workspace.pin(path);
    return pinned.real;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return path;
    throw error;
  }
}

async function statExisting(at: string): Promise<BigIntStats | null> {
  try {
    const stats = await lstat(at, { bigint: true });
    if (stats.isDirectory()) throw new Fault(400, "is_folder", "It is a folder");
    return stats;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function checkConditions(request: IncomingMessage, stats: BigIntStats | null): void {
  const { "if-match": match, "if-none-match": noneMatch } = request.headers;
  if (noneMatch === "*" && stats) throw new Fault(412, "changed", "The file exists already");
  if (match === undefined) return;
  if (!stats) throw new Fault(412, "changed", "The file has been deleted");
  if (match !== "*" && match !== etagOf(stats)) throw new Fault(412, "changed", "The file has changed since it was read");
}
