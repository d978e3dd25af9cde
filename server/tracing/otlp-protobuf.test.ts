import { expect, test } from "vitest";
import { encodeSpansAsProtobuf } from "./otlp-protobuf.ts";
import type { SpanRecord } from "./span.ts";

const SPAN: SpanRecord = {
  traceId: "0123456789abcdef0123456789abcdef",
  spanId: "00f067aa0ba902b7",
  parentSpanId: null,
  name: "POST /sessions",
  kind: "server",
  startMs: 1_900_000_000_000.25,
  endMs: 1_900_000_000_001.5,
};
const CHILD: SpanRecord = {
  ...SPAN,
  spanId: "b7ad6b7169203331",
  parentSpanId: SPAN.spanId,
  name: "Größe",
  kind: "internal",
  attributes: { text: "a", yes: true, no: false, whole: 300, negative: -1, part: 0.5, absent: undefined, long: "x".repeat(1000) },
  error: "sandbox_failed",
};

test("spans have the fields, types and values of the messages of opentelemetry-proto", () => {
  const [resourceSpans, ...others] = decode(encodeSpansAsProtobuf([SPAN, CHILD], { "service.name": "berth" }));
  expect(others).toEqual([]);
  const [resource, scopeSpans] = messages(resourceSpans, 1, 2);
  expect(messages(resource, 1).map(readAttribute)).toEqual([["service.name", "berth"]]);
  const [scope, one, two] = messages(scopeSpans, 1, 2, 2);
  expect(decode(scope!)).toEqual([{ field: 1, bytes: Buffer.from("berth") }]);
  expect(decode(one!)).toEqual([
    { field: 1, bytes: Buffer.from(SPAN.traceId, "hex") },
    { field: 2, bytes: Buffer.from(SPAN.spanId, "hex") },
    { field: 5, bytes: Buffer.from("POST /sessions") },
    { field: 6, varint: 2n },
    { field: 7, fixed: fixed(1_900_000_000_000_250_000n) },
    { field: 8, fixed: fixed(1_900_000_000_001_500_000n) },
  ]);
  const child = decode(two!);
  expect(child.filter(({ field }) => [4, 5, 6, 15].includes(field))).toEqual([
    { field: 4, bytes: Buffer.from(SPAN.spanId, "hex") },
    { field: 5, bytes: Buffer.from("Größe") },
    { field: 6, varint: 1n },
    { field: 15, bytes: Buffer.from([3 << 3, 2]) },
  ]);
  expect(child.filter(({ field }) => field === 9).map(({ bytes }) => readAttribute(bytes!))).toEqual([
    ["text", "a"],
    ["yes", true],
    ["no", false],
    ["whole", 300n],
    ["negative", -1n],
    ["part", 0.5],
    ["long", "x".repeat(256)],
    ["error.type", "sandbox_failed"],
  ]);
});

test("a batch that is larger than the writer's first buffer is complete", () => {
  const spans = Array.from({ length: 256 }, (_, n) => ({ ...CHILD, name: `span ${n}` }));
  const [resourceSpans] = decode(encodeSpansAsProtobuf(spans, {}));
  const [, scopeSpans] = messages(resourceSpans, 1, 2);
  const names = decode(scopeSpans!)
    .filter(({ field }) => field === 2)
    .map(({ bytes }) => String(decode(bytes!).find(({ field }) => field === 5)?.bytes));
  expect(names).toEqual(spans.map(({ name }) => name));
});

interface Field {
  field: number;
  varint?: bigint;
  fixed?: Buffer;
  bytes?: Buffer;
}

// The wire format by its specification, without a schema.
function decode(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number) => message.subarray(at, (at += length));
  while (at < message.length) {
    const tag = Number(varint());
    const [field, type] = [tag >> 3, tag & 7];
    if (type === 0) fields.push({ field, varint: varint() });
    else if (type === 1) fields.push({ field, fixed: take(8) });
    else if (type === 2) fields.push({ field, bytes: take(Number(varint())) });
    else throw new Error(`wire type ${type}`);
  }
  expect(at).toBe(message.length);
  return fields;
}

function messages(message: Field | Buffer | undefined, ...numbers: number[]): Buffer[] {
  const fields = decode(Buffer.isBuffer(message) ? message : message!.bytes!);
  expect(fields.map(({ field }) => field)).toEqual(numbers);
  return fields.map(({ bytes }) => bytes!);
}

function readAttribute(message: Buffer): [string, unknown] {
  const [key, value] = messages(message, 1, 2);
  const [{ field, bytes, varint, fixed: double }] = decode(value!) as [Field];
  const types: Record<number, () => unknown> = {
    1: () => String(bytes),
    2: () => varint === 1n,
    3: () => BigInt.asIntN(64, varint!),
    4: () => double!.readDoubleLE(),
  };
  return [String(key), types[field]!()];
}

function fixed(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}
