import { Pool, type Dispatcher } from "undici";
import { AppError } from "@berth/contract";
import { readBody } from "../../bounded-io/read-body.ts";

// The API of the Docker Engine: HTTP over its Unix socket. Rejects with `sandbox_timeout` if the Engine does not answer, and with
// `sandbox_failed` or `capacity_reached` if it refuses. All our calls are idempotent, so a call whose connection breaks, because
// the Engine restarts, is retried once.
export interface Engine extends AsyncDisposable {
  call(request: EngineRequest): Promise<EngineResponse>;
}

export interface EngineRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  // The path below the API version: /containers/json
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  // A tar archive to send instead of `body`.
  tar?: Buffer;
  // Error statuses that the caller handles itself.
  accept?: number[];
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface EngineResponse {
  status: number;
  // The parsed value if it is JSON, otherwise the text.
  body: unknown;
}

// The API version that this code is written for. Newer Engines support older versions down to their minimum.
const NEWEST_VERSION = "1.51";
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

export function createEngine(socketPath: string): Engine {
  const pool = new Pool("http://docker", { socketPath, connections: 32, pipelining: 1, connectTimeout: 5_000, bodyTimeout: 60_000 });
  let version: Promise<string> | undefined;

  // Cached until a call fails, because another version of the Engine may come back.
  function negotiatedVersion(): Promise<string> {
    version ??= negotiate().catch((error: unknown) => {
      version = undefined;
      throw error;
    });
    return version;
  }

  async function negotiate(): Promise<string> {
    const { body } = await send({ method: "GET", path: "/version" }, "");
    const { ApiVersion, MinAPIVersion } = body as { ApiVersion: string; MinAPIVersion?: string };
    return chooseVersion(ApiVersion, MinAPIVersion);
  }

  async function send(request: EngineRequest, prefix: string): Promise<EngineResponse> {
    const { method, path, query, body, tar, timeoutMs = 30_000, signal } = request;
    const search = query ? `?${new URLSearchParams(query).toString()}` : "";
    const payload = tar ?? (body === undefined ? null : JSON.stringify(body));
    const response = await pool.request({
      method,
      path: `${prefix}${path}${search}`,
      headers: payload === null ? {} : { "content-type": tar ? "application/x-tar" : "application/json" },
      body: payload,
      headersTimeout: timeoutMs,
      signal: signal ?? null,
    });
    return { status: response.statusCode, body: await read(response) };
  }

  async function call(request: EngineRequest): Promise<EngineResponse> {
    for (let tries = 1; ; tries++) {
      try {
        const response = await send(request, `/v${await negotiatedVersion()}`);
        if (response.status >= 400 && !request.accept?.includes(response.status)) throw refusal(request, response);
        return response;
      } catch (error) {
        if (error instanceof AppError) throw error;
        request.signal?.throwIfAborted();
        version = undefined;
        if (tries === 1 && isBrokenConnection(error)) continue;
        throw new AppError("sandbox_timeout", { cause: error });
      }
    }
  }

  return {
    call,
    async [Symbol.asyncDispose]() {
      await pool.destroy();
    },
  };
}

export function chooseVersion(newestOfEngine: string, oldestOfEngine = "1.24"): string {
  const newestOfBoth = isOlder(newestOfEngine, NEWEST_VERSION) ? newestOfEngine : NEWEST_VERSION;
  return isOlder(newestOfBoth, oldestOfEngine) ? oldestOfEngine : newestOfBoth;
}

const isOlder = (a: string, b: string) => Number(a.split(".")[1]) < Number(b.split(".")[1]);

async function read(response: Dispatcher.ResponseData): Promise<unknown> {
  const text = String(await readBody(response.body, MAX_RESPONSE_BYTES, () => new Error("the Engine's response is larger than 16 MiB")));
  return String(response.headers["content-type"]).startsWith("application/json") && text !== "" ? parseIfJson(text) : text;
}

// The response of a pull is one JSON value per line, which is not valid JSON as a whole.
function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal({ method, path }: EngineRequest, { status, body }: EngineResponse): AppError {
  const message = messageOf(body);
  const cause = new Error(`docker: ${method} ${path}: ${status} ${message}`);
  return new AppError(/no space left|cannot allocate memory/i.test(message) ? "capacity_reached" : "sandbox_failed", { cause });
}

export const messageOf = (body: unknown): string =>
  typeof body === "object" && body !== null && "message" in body ? String(body.message) : String(body).slice(0, 500);

function isBrokenConnection(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
}
