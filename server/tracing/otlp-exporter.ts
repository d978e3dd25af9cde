import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { runWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";
import { encodeSpansAsJson } from "./otlp-json.ts";
import { encodeSpansAsProtobuf } from "./otlp-protobuf.ts";
import { errorType, type Attributes, type SpanRecord } from "./span.ts";

// Sends spans to a collector over OTLP/HTTP, in batches. Memory and time are bounded, whatever the collector does: spans that it
// does not take are dropped and counted.
export interface OtlpExporter extends AsyncDisposable {
  add(span: SpanRecord): void;
  readonly counters: Readonly<SpanCounters>;
}

export interface SpanCounters {
  exported: number;
  // The queue was full.
  dropped: number;
  // The collector refused them, or could not be reached.
  failed: number;
}

export interface OtlpExporterOptions {
  url: string;
  // Often credentials. They are neither logged nor sent anywhere else: redirects are not followed.
  headers: Readonly<Record<string, string>>;
  encoding: keyof typeof ENCODINGS;
  timeoutMs: number;
  // How long spans are gathered.
  delayMs: number;
  resource: Attributes;
  log: Log;
  // How long the last spans have when the server stops.
  closingMs?: number;
}

const ENCODINGS = {
  json: { contentType: "application/json", encode: encodeSpansAsJson },
  protobuf: { contentType: "application/x-protobuf", encode: encodeSpansAsProtobuf },
};
const MAX_QUEUE = 2048;
// Encoding a batch holds the event loop for a few milliseconds.
const MAX_BATCH = 256;
const ATTEMPTS = 3;
const RETRYABLE = new Set([429, 502, 503, 504]);
const MAX_RESPONSE_BYTES = 64 * 1024;
const LOG_EVERY_MS = 60_000;
const WORK = { name: "trace export" };

export function createOtlpExporter(options: OtlpExporterOptions): OtlpExporter {
  const { url, headers, encoding, timeoutMs, delayMs, resource, log, closingMs = 2_000 } = options;
  const { contentType, encode } = ENCODINGS[encoding];
  const { origin, pathname, search } = new URL(url);
  const agent = new Agent({ connections: 1, allowH2: false, maxHeaderSize: 16 * 1024, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const counters: SpanCounters = { exported: 0, dropped: 0, failed: 0 };
  const closing = new AbortController();
  const queue: SpanRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let loggedMs = -Infinity;

  function add(span: SpanRecord): void {
    if (queue.length >= MAX_QUEUE || closing.signal.aborted) return void counters.dropped++;
    queue.push(span);
    if (queue.length >= MAX_BATCH) startSending();
    else timer ??= setTimeout(startSending, delayMs).unref();
  }

  function startSending(): void {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendQueue().finally(() => {
      sending = undefined;
      if (queue.length > 0) timer ??= setTimeout(startSending, delayMs).unref();
    });
  }

  async function sendQueue(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, MAX_BATCH);
      const failure = await sendBatch(runWork(WORK, () => encode(batch, resource)));
      counters[failure === null ? "exported" : "failed"] += batch.length;
      if (failure !== null) logFailure(failure);
    }
  }

  // null if the collector took it, else why not.
  async function sendBatch(body: string | Buffer): Promise<string | null> {
    for (let attempt = 1; ; attempt++) {
      const result = await post(body);
      if (result.status !== null && result.status >= 200 && result.status < 300) return null;
      const mayRetry = result.status === null || RETRYABLE.has(result.status);
      if (!mayRetry || attempt === ATTEMPTS || closing.signal.aborted) return result.failure;
      await sleep(delayMs * 2 ** (attempt - 1), undefined, { signal: closing.signal, ref: false }).catch(() => {});
    }
  }

  async function post(body: string | Buffer): Promise<{ status: number | null; failure: string }> {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), closing.signal]);
    try {
      const response = await agent.request({
        origin,
        path: `${pathname}${search}`,
        method: "POST",
        headers: { ...headers, "content-type": contentType, "user-agent": "berth" },
        body,
        signal,
      });
      // The content does not matter, but the connection can be used again only after the end of the response.
      await response.body.dump({ limit: MAX_RESPONSE_BYTES, signal }).catch(() => {});
      return { status: response.statusCode, failure: `status ${response.statusCode}` };
    } catch (error) {
      return { status: null, failure: errorType(error) };
    }
  }

  function logFailure(reason: string): void {
    if (performance.now() - loggedMs < LOG_EVERY_MS) return;
    loggedMs = performance.now();
    log.warn("traces.not_exported", { collector: origin, reason, failed: counters.failed, dropped: counters.dropped });
  }

  return {
    add,
    counters,
    async [Symbol.asyncDispose]() {
      const end = setTimeout(() => closing.abort(), closingMs);
      startSending();
      await sending;
      clearTimeout(end);
      clearTimeout(timer);
      closing.abort();
      await agent.destroy();
    },
  };
}
