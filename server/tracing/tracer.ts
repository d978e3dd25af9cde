import type { IncomingMessage } from "node:http";
import type { Sample } from "./sampler.ts";
import { plainSpan, recordedSpan, setSpan, type Span, type SpanKind, type SpanRecord } from "./span.ts";
import { newTraceId, parseTraceparent } from "./trace-context.ts";

export interface Tracer {
  // Gives an incoming request its span, which continues the trace of the caller or starts a new one. `spanOf` finds it later.
  receive(request: IncomingMessage): void;
  // A new trace, for work that no request has caused. undefined if no trace is exported.
  start(name: string, kind: SpanKind): Span | undefined;
}

export interface TracerDeps {
  sample: Sample;
  // Receives spans that have ended.
  add(record: SpanRecord): void;
}

// Exports spans.
export function createTracer({ sample, add }: TracerDeps): Tracer {
  return {
    receive(request) {
      const parent = parseTraceparent(request.headers.traceparent);
      const traceId = parent?.traceId ?? newTraceId();
      const isSampled = sample(traceId, parent);
      const named = { traceId, parentSpanId: parent?.spanId ?? null, name: request.method ?? "request", kind: "server" as const };
      setSpan(request, isSampled ? recordedSpan(named, add) : plainSpan({ traceId, isSampled }));
    },
    start(name, kind) {
      const traceId = newTraceId();
      if (!sample(traceId, null)) return undefined;
      return recordedSpan({ traceId, parentSpanId: null, name, kind }, add);
    },
  };
}

// Exports nothing: requests have ids for logs and daemons only. The caller's decision about sampling is passed on.
export const plainTracer: Tracer = {
  receive(request) {
    const parent = parseTraceparent(request.headers.traceparent);
    setSpan(request, parent ? plainSpan({ traceId: parent.traceId, isSampled: parent.isSampled }) : plainSpan({}));
  },
  start: () => undefined,
};
