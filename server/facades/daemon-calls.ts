import type { Readable } from "node:stream";
import { AppError, ERRORS, type ErrorCode, type SandboxId } from "@berth/contract";
import { readBody } from "../bounded-io/read-body.ts";
import type { DaemonLinks, LinkResponse } from "../daemon-link/daemon-links.ts";

// Calls of the daemon in one sandbox, for one request of a facade. Paths are those of the whole sandbox (`base=home`), unless `query` has another base.
export interface DaemonCalls {
  // An error of the daemon is thrown as an AppError.
  call(method: string, path: string, options?: CallOptions): Promise<void>;
  // Resolves with the parsed body. Code in the sandbox may pretend to be the daemon, so the body must have the shape.
  read<Json>(method: string, path: string, shape: Shape, options?: CallOptions): Promise<Json>;
  // Resolves when the response begins.
  open(method: string, path: string, options?: CallOptions): Promise<LinkResponse>;
}

export interface CallOptions {
  query?: Record<string, string | undefined>;
  headers?: Record<string, string>;
  body?: object | Readable | Buffer;
}

// The fields of an object, each with its type, or with the shape of the elements of an array.
export interface Shape {
  [field: string]: "string" | "number" | [Shape];
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export function createDaemonCalls(links: Pick<DaemonLinks, "request">, sandboxId: SandboxId, signal: AbortSignal): DaemonCalls {
  async function open(method: string, path: string, { query = {}, headers, body }: CallOptions = {}): Promise<LinkResponse> {
    const given = Object.entries({ base: "home", ...query }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const isBytes = body !== undefined && (Buffer.isBuffer(body) || "pipe" in body);
    const response = await links.request(sandboxId, {
      method,
      path: `${path}?${new URLSearchParams(given).toString()}`,
      headers: { ...(body !== undefined && !isBytes && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
      bodyTimeoutMs: 0,
      signal,
    });
    if (response.status < 400) return response;
    throw toError(response.status, await readText(response.body));
  }

  return {
    open,
    async call(method, path, options) {
      await readText((await open(method, path, options)).body);
    },
    async read<Json>(method: string, path: string, shape: Shape, options?: CallOptions) {
      const value = parse(await readText((await open(method, path, options)).body));
      if (!hasShape(value, shape)) throw unexpected(`${path} answered something else`);
      return value as Json;
    },
  };
}

const readText = async (body: Readable): Promise<string> =>
  String(await readBody(body, MAX_ANSWER_BYTES, () => new AppError("sandbox_unreachable", { message: "The sandbox sent too much" })));

function hasShape(value: unknown, shape: Shape): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(shape).every(([field, type]) => {
    const found = (value as Record<string, unknown>)[field];
    return typeof type === "string" ? typeof found === type : Array.isArray(found) && found.every((one) => hasShape(one, type[0]));
  });
}

// null: not JSON.
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function toError(status: number, text: string): AppError {
  const { code, error } = (parse(text) ?? {}) as { code?: unknown; error?: unknown };
  if (typeof code === "string" && Object.hasOwn(ERRORS, code) && typeof error === "string" && status !== 401)
    return new AppError(code as ErrorCode, { message: error.slice(0, 1000) });
  return unexpected(`the sandbox answered ${status}`);
}

const unexpected = (reason: string) => new AppError("sandbox_unreachable", { cause: new Error(reason) });
