import { plainText } from "../plain-text.ts";

// The fields of a daemon's report. It is untrusted, so each is checked.

export function timeOf(text: unknown): number | null {
  const ms = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return ms >= 0 && ms < MAX_TIME_MS ? ms : null;
}

// Dates of JavaScript end there.
const MAX_TIME_MS = 8.64e15;

export const objectOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;

// A whole number from 0.
export const countOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;

// The elements that `parse` understands, of the first `limit`.
export const listOf = <Item>(value: unknown, limit: number, parse: (item: Record<string, unknown>) => Item | null): Item[] =>
  (Array.isArray(value) ? value.slice(0, limit) : []).flatMap((item) => {
    const object = objectOf(item);
    const parsed = object && parse(object);
    return parsed ? [parsed] : [];
  });

export const oneOf = <Value extends string>(value: unknown, values: readonly Value[]): Value | null =>
  values.includes(value as Value) ? (value as Value) : null;

const MAX_NAME = 200;

// A text on one line; null if there is none.
export const nameOf = (value: unknown, maxLength = MAX_NAME): string | null =>
  typeof value === "string" && value !== "" ? plainText(value, maxLength) : null;

// An id that the caller sends back to the daemon, so it cannot be changed.
export const idOf = (value: unknown): string | null => (typeof value === "string" && /^[\x20-\x7e]{1,200}$/.test(value) ? value : null);
