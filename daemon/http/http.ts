import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

// The daemon's own small web framework: a table of routes, JSON in and out, one place that turns errors into replies.
export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  // What stood in the place of `:name` in the route's path, decoded.
  params: Record<string, string>;
  query: URLSearchParams;
}

export interface Upgrade extends Omit<Call, "response"> {
  socket: Duplex;
  head: Buffer;
}

// A path is segments; `:name` takes one of them, a last `*` takes the rest, even nothing.
export interface Route {
  method: string;
  path: string;
  handle(call: Call): Promise<void> | void;
}

export interface UpgradeRoute {
  path: string;
  upgrade(call: Upgrade): Promise<void> | void;
}

// What a caller did wrong or met: becomes `{error, code}` with the status.
export class Fault extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "Fault";
    this.status = status;
    this.code = code;
  }
}

export const badRequest = (message: string) => new Fault(400, "bad_request", message);
export const notFound = (message: string) => new Fault(404, "not_found", message);

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": bytes.length,
    "Cache-Control": "no-store",
  });
  response.end(bytes);
}

export function sendFault(response: ServerResponse, error: unknown): void {
  const fault = toFault(error);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // Also as a header, so that a relay can tell it without reading the body.
  response.setHeader("X-Error-Code", fault.code);
  sendJson(response, fault.status, { error: fault.message, code: fault.code });
}

const MAX_JSON_BYTES = 16 * 1024 * 1024;

export async function readJson(request: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Fault(413, "too_large", `The body is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw badRequest("The body is not JSON");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw badRequest("The body is not a JSON object");
  return body as Record<string, unknown>;
}

const MAX_TEXT = 512 * 1024;

// A field of a body or a message that must be there.
export function requiredText(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT)
    throw badRequest(`${name} must be a string of 1 to ${MAX_TEXT} characters`);
  return value;
}

export interface Target {
  segments: string[];
  query: URLSearchParams;
}

// Not `new URL`: that would take the start of "//x/y" for a host and tidy "/a/../b" away.
export function parseTarget(target: string): Target {
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  try {
    const segments = path.slice(1).split("/").map(decodeURIComponent);
    return { segments, query: new URLSearchParams(mark === -1 ? "" : target.slice(mark + 1)) };
  } catch {
    throw badRequest("The path is not properly encoded");
  }
}

export function matchPath(path: string, segments: string[]): Record<string, string> | null {
  const parts = path.slice(1).split("/");
  const open = parts.at(-1) === "*";
  if (open ? segments.length < parts.length - 1 : segments.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    if (part === "*") break;
    const segment = segments[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return params;
}

const SYSTEM_FAULTS: Record<string, [status: number, code: string, message: string]> = {
  ENOENT: [404, "not_found", "There is no such file or folder"],
  ENOTDIR: [404, "not_found", "A part of the path is not a folder"],
  EEXIST: [409, "exists", "It exists already"],
  ENOTEMPTY: [409, "exists", "The folder is not empty"],
  EISDIR: [400, "is_folder", "It is a folder"],
  EINVAL: [400, "bad_request", "That is not possible with this path"],
  ENAMETOOLONG: [400, "bad_request", "The name is too long"],
  ELOOP: [403, "path_outside", "The path leads out of the workspace"],
  EACCES: [403, "forbidden", "The permissions do not allow it"],
  EPERM: [403, "forbidden", "The permissions do not allow it"],
  EROFS: [403, "forbidden", "It is read-only"],
  ENOSPC: [507, "disk_full", "The disk is full"],
  EDQUOT: [507, "disk_full", "The disk is full"],
  E2BIG: [400, "too_large", "The command and its environment are too long"],
  EMFILE: [503, "busy", "Too many files are open"],
  // The caller went away in the middle; nobody reads this.
  ECONNRESET: [400, "aborted", "The connection was closed"],
  ERR_STREAM_PREMATURE_CLOSE: [400, "aborted", "The connection was closed"],
  EAGAIN: [503, "busy", "The sandbox has no room for another process"],
};

export function toFault(error: unknown): Fault {
  // By name: parts that are loaded on demand carry their own copy of the class.
  if (error instanceof Error && error.name === "Fault") return error as Fault;
  const code = errorCode(error);
  const known = code === undefined ? undefined : SYSTEM_FAULTS[code];
  if (known) return new Fault(...known);
  console.error(error);
  return new Fault(500, "internal", "Something went wrong in the sandbox");
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
