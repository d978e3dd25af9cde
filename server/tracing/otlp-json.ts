import { KINDS, limitText, STATUS_ERROR, toNanoseconds } from "./otlp-values.ts";
import type { Attributes, SpanRecord } from "./span.ts";

// The body of an export request: OTLP in its JSON encoding. Ids are hexadecimal and 64-bit numbers are strings, as OTLP demands.
export function encodeSpansAsJson(spans: readonly SpanRecord[], resource: Attributes): string {
  const scopeSpans = [{ scope: { name: "berth" }, spans: spans.map(encodeSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans }] });
}

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

function encodeAttributes(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: encodeValue(value) }]));
}

function encodeValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: limitText(value) };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
