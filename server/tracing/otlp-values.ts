import type { SpanKind } from "./span.ts";

// The values of OTLP that both encodings share.
export const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 };
export const STATUS_ERROR = 2;

// Whole microseconds are exact in a double, whole nanoseconds are not.
export const toNanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;

// Limits the size of a caller's values in a trace.
const MAX_TEXT = 256;
export const limitText = (text: string): string => text.slice(0, MAX_TEXT);
