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
