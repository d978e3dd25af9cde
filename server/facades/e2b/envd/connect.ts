import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, isAppError, type ErrorCode } from "@berth/contract";
import { readBody } from "../../../bounded-io/read-body.ts";
import { toE2bError } from "../errors.ts";

// The Connect protocol with JSON, as much of it as E2B's SDKs use. A unary call is a POST of JSON. A stream answers in frames: a byte of
// flags, the length in four bytes, and JSON; the last one has the flag END.

export type Json = Record<string, unknown>;

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const BODY_TIMEOUT_MS = 60_000;
const HEAD_BYTES = 5;
const COMPRESSED = 1;
const END = 2;

export async function readUnary(request: IncomingMessage): Promise<Json> {
  requireType(request, "application/json");
  return parse(await readInTime(request, MAX_BODY_BYTES));
}

// The one message of a call that answers with a stream.
export async function readEnveloped(request: IncomingMessage): Promise<Json> {
  requireType(request, "application/connect+json");
  const bytes = await readInTime(request, HEAD_BYTES + MAX_BODY_BYTES);
  if (bytes.length < HEAD_BYTES) throw invalid("The message has no complete head");
  if (bytes[0] === COMPRESSED) throw new AppError("not_supported", { message: "Compressed messages are not supported by Berth" });
  const length = bytes.readUInt32BE(1);
  if (bytes[0] !== 0 || length !== bytes.length - HEAD_BYTES) throw invalid("The length of the message is not that of its head");
  return parse(bytes.subarray(HEAD_BYTES));
}

export function sendUnary(response: ServerResponse, message: object): void {
  sendJson(response, 200, message);
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/connect+json", "cache-control": "no-store" });
}

// Returns false if the caller has to wait for `drain`.
export const sendMessage = (response: ServerResponse, message: object): boolean => response.write(frame(0, message));

// `last` is a message that is sent with the end, in one write.
export function endStream(response: ServerResponse, { last, error }: { last?: object; error?: unknown } = {}): void {
  if (!response.headersSent) beginStream(response);
  const end = frame(END, error === undefined ? {} : { error: toConnectError(error) });
  response.end(last ? Buffer.concat([frame(0, last), end]) : end);
}

export function sendUnaryError(response: ServerResponse, thrown: unknown): void {
  const error = toConnectError(thrown);
  sendJson(response, HTTP_STATUSES[error.code] ?? 500, error);
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy();
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = { "content-type": "application/json", "content-length": bytes.length, "cache-control": "no-store" };
  response.writeHead(status, { ...headers, "x-content-type-options": "nosniff" }).end(bytes);
}

function frame(flags: number, message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + json.length);
  bytes[0] = flags;
  bytes.writeUInt32BE(json.length, 1);
  json.copy(bytes, HEAD_BYTES);
  return bytes;
}

// A body that never ends would keep the request forever.
async function readInTime(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(request.headers["content-length"] ?? 0);
  const tooLarge = () => new AppError("body_too_large", { message: `A message may have ${MAX_BODY_BYTES} bytes` });
  if (declared > maxBytes) throw tooLarge();
  const timer = setTimeout(() => request.destroy(), BODY_TIMEOUT_MS);
  try {
    // The request stays, so that the caller gets its answer.
    return await readBody(request.iterator({ destroyOnReturn: false }), maxBytes, tooLarge);
  } finally {
    clearTimeout(timer);
  }
}

function parse(bytes: Buffer): Json {
  try {
    const value: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  } catch {
    // The same error as for JSON of another type.
  }
  throw invalid("The message is not a JSON object");
}

function requireType({ headers }: IncomingMessage, type: string): void {
  const given = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (given !== type) throw new AppError("unsupported_media_type", { message: `The content type must be ${type}; Berth speaks only JSON` });
}

export const invalid = (message: string) => new AppError("bad_request", { message });

const CODES: Partial<Record<ErrorCode, string>> = {
  exists: "already_exists",
  changed: "already_exists",
  disk_full: "resource_exhausted",
  body_too_large: "resource_exhausted",
  too_large: "resource_exhausted",
  too_many: "resource_exhausted",
  process_ended: "not_found",
  input_closed: "failed_precondition",
};

const CODES_BY_STATUS: Record<number, string> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "failed_precondition",
  415: "invalid_argument",
  429: "resource_exhausted",
  501: "unimplemented",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

const HTTP_STATUSES: Record<string, number> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 400,
  resource_exhausted: 429,
  unimplemented: 501,
  unavailable: 503,
};

function toConnectError(thrown: unknown): { code: string; message: string } {
  const { code, message } = toE2bError(thrown);
  const named = isAppError(thrown) ? CODES[thrown.code] : undefined;
  return { code: named ?? CODES_BY_STATUS[code] ?? "internal", message };
}
