import { randomFillSync } from "node:crypto";

// Where a request is in a trace, as W3C Trace Context defines it. Ids are lowercase hexadecimal.
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  // Whether the spans of this trace are exported.
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
// A later version may add fields. Nothing longer than this is a traceparent.
const MAX_LENGTH = 256;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

// null if the header is absent or malformed. The request is then handled as if there were none.
export function parseTraceparent(header: string | string[] | undefined): TraceContext | null {
  if (typeof header !== "string" || header.length > MAX_LENGTH) return null;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header.trim()) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === "ff" || (version === "00" && more !== undefined) || traceId === NO_TRACE || spanId === NO_SPAN) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;

// The fields of log lines that belong to a trace.
export const traceFields = (context: TraceContext | undefined): { traceId?: string; spanId?: string } =>
  context ? { traceId: context.traceId, spanId: context.spanId } : {};

export const newTraceId = (): string => randomHex(16);
export const newSpanId = (): string => randomHex(8);

// Random bytes are taken from a supply, because a call of the random generator costs more than the rest of an id.
const supply = Buffer.alloc(4096);
let used = supply.length;

function randomHex(bytes: number): string {
  if (used + bytes > supply.length) {
    randomFillSync(supply);
    used = 0;
  }
  used += bytes;
  return supply.toString("hex", used - bytes, used);
}
