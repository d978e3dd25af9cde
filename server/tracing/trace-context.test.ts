import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createSampler } from "./sampler.ts";
import { plainSpan, spanOf } from "./span.ts";
import { plainTracer } from "./tracer.ts";
import { formatTraceparent, newSpanId, newTraceId, parseTraceparent } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a valid traceparent is read, also one of a later version", () => {
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-02`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: false });
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-adds`)).toMatchObject({ traceId: TRACE, isSampled: true });
  expect(formatTraceparent(parseTraceparent(`00-${TRACE}-${SPAN}-01`)!)).toBe(`00-${TRACE}-${SPAN}-01`);
});

const malformed: [string, string | string[] | undefined][] = [
  ["absent", undefined],
  ["empty", ""],
  ["of two headers", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ["a list", [`00-${TRACE}-${SPAN}-01`]],
  ["of a forbidden version", `ff-${TRACE}-${SPAN}-01`],
  ["with more than version 00 has", `00-${TRACE}-${SPAN}-01-more`],
  ["in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["with an empty trace id", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["with an empty span id", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["without flags", `00-${TRACE}-${SPAN}`],
  ["with line breaks", `00-${TRACE}-${SPAN}-01\n{"msg":"forged"}`],
  ["endless", `cc-${TRACE}-${SPAN}-01-${"x".repeat(10_000)}`],
];
test.each(malformed)("a traceparent that is %s is ignored", (_what, header) => {
  expect(parseTraceparent(header)).toBeNull();
});

test("new ids are valid and differ, also when the supply of random bytes is renewed", () => {
  const ids = Array.from({ length: 1000 }, () => `00-${newTraceId()}-${newSpanId()}-00`);
  expect(ids.filter((id) => parseTraceparent(id) === null)).toEqual([]);
  expect(new Set(ids.flatMap((id) => id.split("-").slice(1, 3))).size).toBe(2000);
});

test("a span that is not exported makes its ids once, and continues the caller's trace", () => {
  const [span, other] = [plainSpan({}), plainSpan({})];
  expect(parseTraceparent(formatTraceparent(span))).toEqual({ traceId: span.traceId, spanId: span.spanId, isSampled: false });
  expect([span.traceId, span.spanId]).not.toEqual([other.traceId, other.spanId]);
  const request = { headers: { traceparent: `00-${TRACE}-${SPAN}-01` } } as unknown as IncomingMessage;
  plainTracer.receive(request);
  const received = spanOf(request)!.child("daemon GET");
  expect([received.traceId, received.isSampled]).toEqual([TRACE, true]);
  expect(received.spanId).not.toBe(SPAN);
});

test("samplers follow the caller or decide by the trace id", () => {
  const parent = (isSampled: boolean) => ({ traceId: TRACE, spanId: SPAN, isSampled });
  const follows = createSampler("parentbased_always_on", 1);
  expect([follows(TRACE, null), follows(TRACE, parent(false)), follows(TRACE, parent(true))]).toEqual([true, false, true]);
  expect(createSampler("parentbased_always_off", 1)(TRACE, parent(true))).toBe(true);
  expect(createSampler("always_off", 1)(TRACE, parent(true))).toBe(false);
  expect(createSampler("traceidratio", 0)(TRACE, parent(true))).toBe(false);
  const quarter = createSampler("parentbased_traceidratio", 0.25);
  const sampled = Array.from({ length: 4000 }, newTraceId).filter((id) => quarter(id, null)).length;
  expect(sampled).toBeGreaterThan(800);
  expect(sampled).toBeLessThan(1200);
});
