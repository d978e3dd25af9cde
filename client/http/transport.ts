import { ConnectionError, errorFrom, TimeoutError, type BerthError } from "./errors.ts";
import { wait } from "./wait.ts";
import { randomId } from "./web-crypto.ts";

export interface TransportOptions {
  // `undefined`, for example from an unset environment variable, throws immediately.
  apiKey: string | undefined;
  // The address of the service, such as https://berth.example.com.
  baseUrl: string;
  // The deadline of one attempt. Streams have none. Default: one minute, and five minutes for calls that copy files or wait for a
  // repository.
  timeoutMs?: number;
  // How often a failed call is retried, if a retry cannot execute it twice.
  maxRetries?: number;
  // Replaces the runtime's fetch, for tests or proxies.
  fetch?: typeof fetch;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  // A path below the base URL, or an absolute URL.
  url: string;
  query?: Record<string, string | number | undefined>;
  json?: unknown;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  // The service executes calls with the same key only once. `true` generates a key.
  idempotencyKey?: string | true;
  // Whether the call is idempotent, by itself or by its key. Other calls are only retried if the service refused them.
  repeatable?: boolean;
  signal?: AbortSignal;
  // The response is a stream without a deadline.
  streaming?: boolean;
  // The service may copy many files before it answers.
  isLong?: boolean;
}

// Sends a call, retries it where that is safe, and returns the response. Throws a BerthError unless the status is 2xx.
export type Transport = (call: Call) => Promise<Response>;

export const readJson = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T;

const MAX_WAIT_MS = 60_000;
const TIMEOUT_MS = 60_000;
// Node's fetch waits no longer.
const LONG_TIMEOUT_MS = 5 * 60_000;

export function createTransport({
  apiKey,
  baseUrl,
  timeoutMs: chosenTimeoutMs,
  maxRetries = 3,
  fetch: send = globalThis.fetch,
}: TransportOptions): Transport {
  if (!apiKey) throw new TypeError("apiKey is required");
  const base = new URL(baseUrl).origin;

  return async (call) => {
    const request = await prepare(call);
    for (let attempt = 0; ; attempt++) {
      const outcome = await attemptOnce(request, call);
      if (outcome instanceof Response) return outcome;
      const waitMs = outcome.retryAfterMs ?? backOffMs(attempt);
      if (attempt >= maxRetries || !canRetry(outcome, call) || waitMs > MAX_WAIT_MS) throw outcome;
      await wait(waitMs, call.signal);
    }
  };

  async function prepare({ method, url, query = {}, json, body, headers = {}, idempotencyKey }: Call): Promise<Prepared> {
    const target = new URL(url, base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, String(value));
    const all: Record<string, string> = { accept: "application/json", ...headers, authorization: `Bearer ${apiKey}` };
    if (json !== undefined) all["content-type"] = "application/json";
    // All attempts share one key.
    if (idempotencyKey) all["idempotency-key"] = idempotencyKey === true ? await randomId() : idempotencyKey;
    // A redirect must not carry the API key elsewhere. Not every runtime supports "error".
    const content = json === undefined ? (body as RequestInit["body"]) : JSON.stringify(json);
    return { url: target, init: { method, headers: all, body: content, redirect: "manual" } };
  }

  async function attemptOnce({ url, init }: Prepared, { signal, streaming, isLong }: Call): Promise<Response | BerthError> {
    const timeoutMs = chosenTimeoutMs ?? (isLong ? LONG_TIMEOUT_MS : TIMEOUT_MS);
    const attempt = new AbortController();
    let isLate = false;
    const timer = streaming ? undefined : setTimeout(() => ((isLate = true), attempt.abort()), timeoutMs);
    // Node 18 has no `AbortSignal.any`.
    const forward = () => attempt.abort(signal?.reason);
    if (signal?.aborted) forward();
    else signal?.addEventListener("abort", forward, { once: true });
    try {
      const response = await send(url, { ...init, signal: attempt.signal });
      if (!response.ok) return await errorFrom(response);
      // The signal also ends the stream.
      if (streaming) return response;
      const whole = await readWhole(response);
      signal?.removeEventListener("abort", forward);
      return whole;
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (isLate) return new TimeoutError(`No response within ${timeoutMs} ms`, { code: "timeout", cause });
      return new ConnectionError(`${url.origin} could not be reached`, { code: "connection_failed", cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

interface Prepared {
  url: URL;
  init: RequestInit;
}

// Reads the body before the deadline, so that a connection that breaks or stalls in the middle is a failed attempt.
async function readWhole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  return new Response(body.byteLength === 0 ? null : body, { status: response.status, headers: response.headers });
}

// The service refuses with these codes before it changes anything.
const REFUSALS = new Set(["rate_limited", "capacity_reached", "unavailable", "store_unavailable", "idempotency_in_flight", "session_busy"]);

function canRetry(error: BerthError, { method, repeatable = method !== "POST" }: Call): boolean {
  if (REFUSALS.has(error.code) || error.status === 429) return true;
  const { status } = error;
  return repeatable && (status === undefined || status === 500 || status === 502 || status === 503 || status === 504);
}

// 0.2, 0.4, 0.8 … 5 s. Random jitter of up to half keeps clients from retrying in lockstep.
const backOffMs = (attempt: number) => Math.min(200 * 2 ** attempt, 5000) * (1 - Math.random() / 2);
