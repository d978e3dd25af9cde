import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { AppError } from "@berth/contract";
import type { WrittenFile } from "@berth/contract/daemon.ts";
import { limitBytes } from "../../../forwarding/limit-bytes.ts";
import { invalid, sendJson } from "./connect.ts";
import type { DaemonCalls } from "../../daemon-calls.ts";
import { ATTRIBUTE_PREFIX } from "./filesystem-calls.ts";
import { readMultipart } from "./multipart.ts";

// Reads and writes the bytes of files, as E2B's `/files` does.

const MAX_FILE_BYTES = 4 * 1024 ** 3;
const METADATA_HEADER = "x-metadata-";
const PASSED_ON = ["content-length", "content-range", "etag", "last-modified", "accept-ranges"];

export async function sendFile(calls: DaemonCalls, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { range } = request.headers;
  const file = await calls.open("GET", "/files/content", { query: { path }, headers: range === undefined ? {} : { range } });
  const isEmpty = file.headers["content-length"] === "0";
  const zips = request.headers["accept-encoding"] === "gzip" && file.status === 200 && !isEmpty;
  const passed = PASSED_ON.filter((name) => file.headers[name] !== undefined && !(zips && name === "content-length"));
  response.writeHead(file.status, {
    ...Object.fromEntries(passed.map((name) => [name, file.headers[name]])),
    "content-type": "application/octet-stream",
    "content-disposition": `inline; filename*=UTF-8''${encodeURIComponent(basename(path))}`,
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    ...(zips && { "content-encoding": "gzip" }),
  });
  if (zips) await pipeline(file.body, createGzip({ level: 1 }), response);
  else await pipeline(file.body, response);
}

interface Written {
  name: string;
  path: string;
  type: "file";
  metadata?: Record<string, string>;
}

// `path` is that of the query. Without it, the parts of a form name theirs.
export async function receiveFiles(
  calls: DaemonCalls,
  path: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const metadata = metadataOf(request);
  const type = request.headers["content-type"] ?? "";
  const isForm = type.startsWith("multipart/form-data");
  const encoding = encodingOf(request, isForm);
  const body = limited(request);
  const written: Written[] = [];

  async function write(to: string, content: Readable): Promise<void> {
    if (to === "") throw invalid("path is required");
    const attributes = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`${ATTRIBUTE_PREFIX}${key}`, value]));
    const query = {
      path: to,
      ...(encoding === "gzip" && { encoding }),
      ...(Object.keys(metadata).length > 0 && { attributes: JSON.stringify(attributes) }),
    };
    const file = await calls.read<WrittenFile>("PUT", "/files/content", { path: "string" }, { query, body: content });
    const name = basename(file.path);
    written.push({ name, path: file.path, type: "file", ...(Object.keys(metadata).length > 0 && { metadata }) });
  }

  if (isForm)
    await readMultipart(body, type, async (part) => {
      if (part.isFile) await write(path ?? part.fileName, part.body);
      else part.body.resume();
    });
  else if (type.startsWith("application/octet-stream")) await write(path ?? "", body);
  else throw invalid("The content type must be multipart/form-data or application/octet-stream");
  if (written.length === 0) throw invalid("The form has no part called file");
  sendJson(response, 200, written);
}

function limited(request: IncomingMessage): Readable {
  const tooLarge = () => new AppError("body_too_large", { message: `A file may have ${MAX_FILE_BYTES} bytes` });
  const cut = () => new AppError("bad_request", { message: "The upload was cut off" });
  return limitBytes(request, { maxBytes: MAX_FILE_BYTES, tooLarge, cut });
}

// Only the sandbox unpacks.
function encodingOf({ headers }: IncomingMessage, isForm: boolean): "identity" | "gzip" {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || (encoding === "gzip" && !isForm)) return encoding;
  const message = `The encoding ${encoding} is not supported${isForm ? " for forms" : ""}`;
  throw new AppError("unsupported_media_type", { message });
}

function metadataOf({ headers }: IncomingMessage): Record<string, string> {
  const found = Object.entries(headers).filter(([name]) => name.startsWith(METADATA_HEADER));
  return Object.fromEntries(found.map(([name, value]) => [name.slice(METADATA_HEADER.length), String(value)]));
}
