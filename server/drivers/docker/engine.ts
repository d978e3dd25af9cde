import { Pool, type Dispatcher } from "undici";
import { AppError } from "@berth/contract";
import { readBody } from "../../bounded-io/read-body.ts";

// The Docker Engine's API, plain HTTP on its Unix socket. An engine that is away or mute is `sandbox_timeout`, one that
// refuses is `sandbox_failed`. All our calls may be repeated, so a connection that the engine closed under us (it was
// restarted) costs one more try and is not seen by the caller.
export interface Engine extends AsyncDisposable {
  call(request: EngineRequest): Promise<EngineAnswer>;
}

export interface EngineRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  // Below the API version: /containers/json
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  // Sent as it is instead of `body`.
  tar?: Buffer;
  // Statuses beside 2xx that the caller wants to see.
  accept?: number[];
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface EngineAnswer {
  status: number;
  // Parsed where it is JSON, else the text.
  body: unknown;
}

// What this code is written for. Newer engines speak older versions down to their minimum, and the other way round.
const NEWEST_VERSION = "1.51";
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export function createEngine(socketPath: string): Engine {
  const pool = new Pool("http://docker", { socketPath, connections: 32, pipelining: 1, connectTimeout: 5_000, bodyTimeout: 60_000 });
  let version: Promise<string> | undefined;

  // Asked for once; again after the engine was away, since another one may have come back.
  function negotiated(): Promise<string> {
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

  async function send(request: EngineRequest, prefix: string): Promise<EngineAnswer> {
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

  async function call(request: EngineRequest): Promise<EngineAnswer> {
    for (let tries = 1; ; tries++) {
      try {
        const answer = await send(request, `/v${await negotiated()}`);
        if (answer.status >= 400 && !request.accept?.includes(answer.status)) throw refusal(request, answer);
        return answer;
      } catch (error) {
        if (error instanceof AppError) throw error;
        request.signal?.throwIfAborted();
        version = undefined;
        if (tries === 1 && wasCut(error)) continue;
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

export function chooseVersion(theirs: string, theirMinimum = "1.24"): string {
  const wanted = isOlder(theirs, NEWEST_VERSION) ? theirs : NEWEST_VERSION;
  return isOlder(wanted, theirMinimum) ? theirMinimum : wanted;
}

const isOlder = (a: string, b: string) => Number(a.split(".")[1]) < Number(b.split(".")[1]);

async function read(response: Dispatcher.ResponseData): Promise<unknown> {
  const text = String(await readBody(response.body, MAX_ANSWER_BYTES, () => new Error("the engine's answer is larger than 16 MiB")));
  return String(response.headers["content-type"]).startsWith("application/json") && text !== "" ? parse(text) : text;
}

// A pull answers with many JSON values, one a line.
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal({ method, path }: EngineRequest, { status, body }: EngineAnswer): AppError {
  const said = messageOf(body);
  const cause = new Error(`docker: ${method} ${path}: ${status} ${said}`);
  return new AppError(/no space left|cannot allocate memory/i.test(said) ? "capacity_reached" : "sandbox_failed", { cause });
}

export const messageOf = (body: unknown): string =>
  typeof body === "object" && body !== null && "message" in body ? String(body.message) : String(body).slice(0, 500);

function wasCut(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
}
