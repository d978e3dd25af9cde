import type { Readable } from "node:stream";
import { AppError, ERRORS, type ErrorCode, type SandboxId } from "@berth/contract";
import { readBody } from "../../../bounded-io/read-body.ts";
import type { DaemonLinks, LinkResponse } from "../../../daemon-link/daemon-links.ts";

// Calls of the daemon in one sandbox, for one request. Paths are those of the whole sandbox (`base=home`).
export interface DaemonCalls {
  // Resolves with the parsed body. An error of the daemon is thrown as an AppError.
  call<Json>(method: string, path: string, options?: CallOptions): Promise<Json>;
  // Resolves when the response begins.
  open(method: string, path: string, options?: CallOptions): Promise<LinkResponse>;
}

export interface CallOptions {
  query?: Record<string, string | undefined>;
  headers?: Record<string, string>;
  body?: object | Readable | Buffer;
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
    async call<Json>(method: string, path: string, options?: CallOptions) {
      const response = await open(method, path, options);
      const text = await readText(response.body);
      return (text === "" ? {} : JSON.parse(text)) as Json;
    },
  };
}

const readText = async (body: Readable): Promise<string> =>
  String(await readBody(body, MAX_ANSWER_BYTES, () => new AppError("sandbox_unreachable", { message: "The sandbox sent too much" })));

function toError(status: number, text: string): AppError {
  try {
    const { code, error } = JSON.parse(text) as { code?: unknown; error?: unknown };
    if (typeof code === "string" && Object.hasOwn(ERRORS, code) && typeof error === "string" && status !== 401)
      return new AppError(code as ErrorCode, { message: error.slice(0, 1000) });
  } catch {
    // Not what a daemon sends.
  }
  return new AppError("sandbox_unreachable", { cause: new Error(`the sandbox answered ${status}`) });
}
