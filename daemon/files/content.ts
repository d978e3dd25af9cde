import { randomBytes } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { access, type FileHandle, lstat, open, readlink, rename, rm, stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { WrittenFile } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest, systemCode } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Call, Route } from "../http/route.ts";
import { parseAttributes, type Attributes } from "./attributes.ts";
import type { Bases } from "./bases.ts";
import { attachment, requiredPath } from "./files.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";
import { parsePath, syncFolder, type WorkspaceFolder } from "./workspace-folder.ts";

export interface ContentDeps {
  bases: Bases;
  attributes: Pick<Attributes, "write">;
  // Called with each file of the workspace that was written.
  onWrite: (path: string) => void;
}

// Reads and writes the bytes of files. Both directions stream, so memory does not grow with the file.
export function contentRoutes({ bases, attributes, onWrite }: ContentDeps): Route[] {
  const read = (call: Call) => readContent(bases.of(call), requiredPath(call.query.get("path")), call);
  return [
    { method: "GET", path: "/files/content", handle: read },
    { method: "HEAD", path: "/files/content", handle: read },
    {
      method: "PUT",
      path: "/files/content",
      async handle(call) {
        const { request, response, query } = call;
        const base = bases.of(call);
        const wanted = parseAttributes(query.get("attributes"));
        const finish = wanted ? (path: string) => attributes.write(path, wanted) : undefined;
        const content = await decoded(request, query.get("encoding") ?? "identity");
        const { created, full, ...written } = await writeContent(base, requiredPath(query.get("path")), { request, content, finish });
        if (base === bases.workspace) onWrite(parsePath(written.path));
        response.setHeader("ETag", written.etag);
        sendJson(response, created ? 201 : 200, base === bases.workspace ? written : { ...written, path: full });
      },
    },
  ];
}

// Equal tags mean equal bytes, unless someone sets the modification time by hand.
export const etagOf = (stats: BigIntStats) => `"${stats.mtimeNs.toString(36)}-${stats.size.toString(36)}-${stats.ino.toString(36)}"`;

async function readContent(workspace: WorkspaceFolder, path: string, { request, response, query }: Call): Promise<void> {
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
    // The browser must never render a file as a page of this origin, whatever its type.
    response.setHeader("Content-Type", "application/octet-stream");
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (query.has("download")) response.setHeader("Content-Disposition", attachment(basename(path)));
    if (request.headers["if-none-match"] === etag) return void response.writeHead(304).end();

    const wanted = request.headers["if-range"] === undefined || request.headers["if-range"] === etag ? request.headers.range : undefined;
    const range = parseRange(wanted, size);
    if (range === "unsatisfiable") {
      response.setHeader("Content-Range", `bytes */${size}`);
      throw new AppError("range");
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    if (range) response.setHeader("Content-Range", `bytes ${start}-${end}/${size}`);
    response.writeHead(range ? 206 : 200, { "Content-Length": end - start + 1 });
    if (request.method === "HEAD" || end < start) return void response.end();
    // `end` keeps the body as long as Content-Length even if the file grows. If the file shrinks, the connection breaks.
    await pipeline(file.createReadStream({ start, end, autoClose: false, highWaterMark: 256 * 1024 }), response);
  } finally {
    await file.close();
  }
}

// Reading a FIFO or a device could block, or never end.
async function openRegular(at: string): Promise<FileHandle> {
  const stats = await stat(at);
  if (stats.isDirectory()) throw new AppError("is_folder");
  if (!stats.isFile()) throw new AppError("not_a_file");
  return await open(at, constants.O_RDONLY | constants.O_NONBLOCK);
}

type ByteRange = { start: number; end: number } | "unsatisfiable" | null;

// Supports a single range. Anything else is ignored, as RFC 9110 allows.
export function parseRange(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return null;
  const [first, last] = [match[1] ?? "", match[2] ?? ""];
  if (first === "") return last === "0" || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - Number(last)), end: size - 1 };
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}

interface Upload {
  // Its headers have the conditions.
  request: IncomingMessage;
  content: AsyncIterable<Uint8Array>;
  // Called with the file before it replaces the old one.
  finish?: (path: string) => Promise<void>;
}

// `encoding=gzip`: the file is what the body unpacks to. A server never unpacks anything, and here the sandbox's own limits apply.
async function decoded(request: IncomingMessage, encoding: string): Promise<Upload["content"]> {
  if (encoding === "identity") return request;
  if (encoding !== "gzip") throw badRequest("encoding must be gzip");
  const { createGunzip } = await import("node:zlib");
  const unpacked = createGunzip();
  // The reader gets the errors, also one that comes before it reads.
  unpacked.on("error", () => {});
  void pipeline(request, unpacked).catch(() => {});
  return unpackedOrRefused(unpacked);
}

async function* unpackedOrRefused(unpacked: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* unpacked;
  } catch (error) {
    throw systemCode(error)?.startsWith("Z_") ? badRequest("The body is not gzip") : error;
  }
}

async function writeContent(
  workspace: WorkspaceFolder,
  path: string,
  { request, content, finish }: Upload,
): Promise<WrittenFile & { created: boolean; full: string }> {
  await using parent = await workspace.pinParent(await resolveLink(workspace, path), { makeFolders: true });
  const before = await statExisting(parent.at);
  checkConditions(request, before);
  // A rename needs no write permission on the old file, but a read-only file must stay unchanged.
  if (before) await access(parent.at, constants.W_OK);

  const temporary = join(parent.folder, TEMPORARY_PREFIX + randomBytes(8).toString("hex"));
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  try {
    // With `createWriteStream`, closing the file would wait for that stream forever.
    await file.writeFile(content);
    // Keep the permissions, so that an executable script stays executable.
    if (before) await file.chmod(Number(before.mode) & 0o777).catch(() => {});
    // Another process, which does not have the folder open, sets them.
    if (finish) await finish(await readlink(`/proc/self/fd/${file.fd}`));
    await file.sync();
    // Check again, because another writer may have replaced the file during the upload.
    checkConditions(request, await statExisting(parent.at));
    await rename(temporary, parent.at);
    await syncFolder(parent.folder);
    const stats = await file.stat({ bigint: true });
    const written = { path, size: Number(stats.size), modifiedAtMs: Number(stats.mtimeMs), etag: etagOf(stats) };
    return { ...written, created: before === null, full: parent.full };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

// Writing to a symbolic link writes to its target if that is in the workspace. The link itself stays.
async function resolveLink(workspace: WorkspaceFolder, path: string): Promise<string> {
  try {
    await using pinned = await workspace.pin(path);
    return pinned.real;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return path;
    throw error;
  }
}

async function statExisting(at: string): Promise<BigIntStats | null> {
  try {
    const stats = await lstat(at, { bigint: true });
    if (stats.isDirectory()) throw new AppError("is_folder");
    return stats;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

function checkConditions(request: IncomingMessage, stats: BigIntStats | null): void {
  const { "if-match": match, "if-none-match": noneMatch } = request.headers;
  if (stats && noneMatch === "*") throw new AppError("changed", { message: "The file already exists" });
  if (stats && noneMatch?.includes(etagOf(stats))) throw new AppError("changed", { message: "The file has this version" });
  if (match === undefined) return;
  if (!stats) throw new AppError("changed", { message: "The file has been deleted" });
  if (match !== "*" && match !== etagOf(stats)) throw new AppError("changed");
}
