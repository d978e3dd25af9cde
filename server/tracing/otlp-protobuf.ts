import { createProtobufWriter, type ProtobufWriter } from "./protobuf-writer.ts";
import { KINDS, limitText, STATUS_ERROR, toNanoseconds } from "./otlp-values.ts";
import type { Attributes, SpanRecord } from "./span.ts";

// The body of an export request: OTLP in its protobuf encoding. The numbers of fields are those of the messages of opentelemetry-proto.
export function encodeSpansAsProtobuf(spans: readonly SpanRecord[], resource: Attributes): Buffer {
  const writer = createProtobufWriter();
  const { string, message } = writer;
  // ExportTraceServiceRequest.resource_spans
  message(1, () => {
    // ResourceSpans.scope_spans
    message(2, () => {
      // ScopeSpans.spans and ScopeSpans.scope
      for (const span of spans.toReversed()) message(2, () => writeSpan(writer, span));
      message(1, () => string(1, "berth"));
    });
    // ResourceSpans.resource
    message(1, () => writeAttributes(writer, 1, resource));
  });
  return writer.finish();
}

function writeSpan(writer: ProtobufWriter, span: SpanRecord): void {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error } = span;
  if (error !== undefined) writer.message(15, () => writer.varint(3, STATUS_ERROR));
  writeAttributes(writer, 9, { ...attributes, "error.type": error });
  writer.fixed64(8, BigInt(toNanoseconds(endMs)));
  writer.fixed64(7, BigInt(toNanoseconds(startMs)));
  writer.varint(6, KINDS[kind]);
  writer.string(5, name);
  if (parentSpanId !== null) writer.hex(4, parentSpanId);
  writer.hex(2, spanId);
  writer.hex(1, traceId);
}

function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes).toReversed()) {
    if (value === undefined) continue;
    // KeyValue
    writer.message(field, () => {
      writer.message(2, () => writeValue(writer, value));
      writer.string(1, key);
    });
  }
}

// AnyValue
function writeValue(writer: ProtobufWriter, value: string | number | boolean): void {
  if (typeof value === "string") writer.string(1, limitText(value));
  else if (typeof value === "boolean") writer.varint(2, Number(value));
  else if (Number.isSafeInteger(value)) writer.varint(3, value);
  else writer.double(4, value);
}
