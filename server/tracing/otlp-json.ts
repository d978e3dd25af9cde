import type { Attributes, SpanKind, SpanRecord } from "./span.ts";

// The body of an export request: OTLP in its JSON encoding. Ids are hexadecimal and 64-bit numbers are strings, as OTLP demands.
export function encodeSpans(spans: readonly SpanRecord[], resource: Attributes): string {
  const scopeSpans = [{ scope: { name: "berth" }, spans: spans.map(encodeSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans }] });
}

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 };
const STATUS_ERROR = 2;

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error }: SpanRecord) {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(startMs),
    endTimeUnixNano: toNanoseconds(endMs),
    attributes: encodeAttributes({ ...attributes, "error.type": error }),
    status: error === undefined ? {} : { code: STATUS_ERROR },
  };
}

// Whole microseconds are exact in a double, whole nanoseconds are not.
const toNanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;

// Limits the size of a caller's values in a trace.
const MAX_TEXT = 256;

function encodeAttributes(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: encodeValue(value) }]));
}

function encodeValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value.slice(0, MAX_TEXT) };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
