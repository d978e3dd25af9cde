import { ConnectionError, errorFrom, TimeoutError, type BerthError } from "./errors.ts";
import { wait } from "./wait.ts";

export interface TransportOptions {
  // Undefined, as a variable that is not set gives, is refused at once.
  apiKey: string | undefined;
  // Where the service is reached, such as https://berth.example.com.
  baseUrl: string;
  // How long one attempt may take (a stream: for ever). Creating a session waits for its sandbox.
  timeoutMs?: number;
  // How often a call that failed is tried again where that cannot do it twice.
  maxRetries?: number;
  // Another fetch, for tests or proxies.
  fetch?: typeof fetch;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  // Below the base URL, or a whole address.
  url: string;
  query?: Record<string, string | number | undefined>;
  json?: unknown;
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  // Marks the call so that the service does it once however often it arrives. `true` makes a key up.
  idempotencyKey?: string | true;
  // Doing it twice is harmless or, by the key, impossible. Otherwise only refusals are tried again.
  repeatable?: boolean;
  signal?: AbortSignal;
  // The answer is a stream that begins when it likes.
  streaming?: boolean;
}

// Sends a call until it succeeds or it is clear that it will not, and gives the answer; anything but 2xx is thrown.
export type Transport = (call: Call) => Promise<Response>;

export const readJson = async <T>(answer: Promise<Response>): Promise<T> => (await (await answer).json()) as T;

const LONGEST_WAIT_MS = 60_000;

export function createTransport({
  apiKey,
  baseUrl,
  timeoutMs = 60_000,
  maxRetries = 3,
  fetch: send = globalThis.fetch,
}: TransportOptions): Transport {
  if (!apiKey) throw new TypeError("apiKey is missing");
  const base = new URL(baseUrl).origin;

  return async (call) => {
    const request = prepare(call);
    for (let attempt = 0; ; attempt++) {
      const outcome = await once(request, call);
      if (outcome instanceof Response) return outcome;
      const waitMs = outcome.retryAfterMs ?? backOffMs(attempt);
      if (attempt >= maxRetries || !mayRepeat(outcome, call) || waitMs > LONGEST_WAIT_MS) throw outcome;
      await wait(waitMs, call.signal);
    }
  };

  function prepare({ method, url, query = {}, json, body, headers = {}, idempotencyKey }: Call): { url: URL; init: RequestInit } {
    const target = new URL(url, base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, String(value));
    const all: Record<string, string> = { accept: "application/json", ...headers, authorization: `Bearer ${apiKey}` };
    if (json !== undefined) all["content-type"] = "application/json";
    // The same for all attempts: that is what makes them one.
    if (idempotencyKey) all["idempotency-key"] = idempotencyKey === true ? crypto.randomUUID() : idempotencyKey;
    // The key must not travel on to wherever a redirect points. Not every runtime knows "error".
    return { url: target, init: { method, headers: all, body: json === undefined ? body : JSON.stringify(json), redirect: "manual" } };
  }

  async function once({ url, init }: ReturnType<typeof prepare>, { signal, streaming }: Call): Promise<Response | BerthError> {
    const patience = new AbortController();
    const timer = streaming ? undefined : setTimeout(() => patience.abort(), timeoutMs);
    try {
      const response = await send(url, { ...init, signal: signal ? AbortSignal.any([signal, patience.signal]) : patience.signal });
      if (!response.ok) return await errorFrom(response);
      return streaming ? response : await whole(response);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (patience.signal.aborted) return new TimeoutError(`No answer within ${timeoutMs} ms`, { code: "timeout", cause });
      return new ConnectionError(`${url.origin} could not be reached`, { code: "connection_failed", cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

// Reads the body while the clock runs: a connection that breaks or stalls half-way is a failed attempt like any other.
async function whole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  return new Response(body.byteLength === 0 ? null : body, { status: response.status, headers: response.headers });
}

// Refused before anything was done.
const REFUSALS = new Set(["rate_limited", "capacity_reached", "unavailable", "store_unavailable", "idempotency_in_flight", "session_busy"]);

function mayRepeat(error: BerthError, { method, repeatable = method !== "POST" }: Call): boolean {
  if (REFUSALS.has(error.code) || error.status === 429) return true;
  const { status } = error;
  return repeatable && (status === undefined || status === 500 || status === 502 || status === 503 || status === 504);
}

// 0.2, 0.4, 0.8 … 5 s, each up to half shorter by chance, so that many clients do not come back at the same moment.
const backOffMs = (attempt: number) => Math.min(200 * 2 ** attempt, 5000) * (1 - Math.random() / 2);
