import type { IncomingMessage } from "node:http";
import { newSpanId, newTraceId, type TraceContext } from "./trace-context.ts";

// A piece of work within a trace. If spans are not exported, it is only the context that logs and the next part receive: `child`
// returns the span itself and `end` does nothing.
export interface Span extends TraceContext {
  readonly isRecorded: boolean;
  child(name: string, kind?: SpanKind): Span;
  // Only the first call has an effect.
  end(result?: SpanResult): void;
}

export type SpanKind = "internal" | "server" | "client";
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanResult {
  // Replaces the name from the start.
  name?: string;
  attributes?: Attributes;
  // The code or the class of the error. Absent if the work succeeded.
  error?: string | undefined;
}

// A span as it is exported. Times are UTC milliseconds with a fraction.
export interface SpanRecord extends SpanResult {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: SpanKind;
  startMs: number;
  endMs: number;
}

// Exports nothing. Ids that are not given are made when a log line or a daemon needs them.
export const plainSpan = ({ traceId, spanId, isSampled }: Partial<TraceContext>): Span => new PlainSpan(traceId, spanId, isSampled);

// A class, because every request has one: its getters and methods cost a request nothing.
class PlainSpan implements Span {
  readonly isRecorded = false;
  readonly isSampled: boolean;
  #traceId: string | undefined;
  #spanId: string | undefined;

  constructor(traceId: string | undefined, spanId: string | undefined, isSampled = false) {
    this.#traceId = traceId;
    this.#spanId = spanId;
    this.isSampled = isSampled;
  }

  get traceId(): string {
    return (this.#traceId ??= newTraceId());
  }

  get spanId(): string {
    return (this.#spanId ??= newSpanId());
  }

  child(): Span {
    return this;
  }

  end(): void {}
}

export interface NewSpan {
  traceId: string;
  parentSpanId: string | null;
  name: string;
  kind: SpanKind;
}

export function recordedSpan({ traceId, parentSpanId, name, kind }: NewSpan, add: (record: SpanRecord) => void): Span {
  const spanId = newSpanId();
  const startMs = nowMs();
  let isOpen = true;
  return {
    traceId,
    spanId,
    isSampled: true,
    isRecorded: true,
    child: (childName, childKind = "internal") => recordedSpan({ traceId, parentSpanId: spanId, name: childName, kind: childKind }, add),
    end(result) {
      if (isOpen) add({ traceId, spanId, parentSpanId, name, kind, startMs, endMs: nowMs(), ...result });
      isOpen = false;
    },
  };
}

// Runs work in a span of its own.
export async function inSpan<Result>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  if (!parent?.isRecorded) return work(parent);
  const span = parent.child(name);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end({ error: errorType(error) });
    throw error;
  }
}

// The code of an AppError or of an error of Node, else the class. Never the message, which may hold anything.
export const errorType = (error: unknown): string =>
  error instanceof Error ? ("code" in error && typeof error.code === "string" ? error.code : error.name) : "unknown";

const SPAN = Symbol("span");
type Traced = IncomingMessage & { [SPAN]?: Span };

// The span of an incoming request. undefined if the listener has not seen it.
export const spanOf = (request: IncomingMessage): Span | undefined => (request as Traced)[SPAN];

export function setSpan(request: IncomingMessage, span: Span): void {
  (request as Traced)[SPAN] = span;
}

// The monotonic clock keeps children within their parents. It is set again when it has drifted from the time of day.
let offsetMs = performance.timeOrigin;
const MAX_DRIFT_MS = 50;

function nowMs(): number {
  const monotonicMs = performance.now();
  const wantedMs = Date.now() - monotonicMs;
  if (Math.abs(wantedMs - offsetMs) > MAX_DRIFT_MS) offsetMs = wantedMs;
  return offsetMs + monotonicMs;
}
