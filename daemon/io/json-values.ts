// Readers of JSON that anyone may have written: a value of another type counts as absent.

export const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

// The values that `textOf` reads, as text.
export function stringsOf(value: unknown): Record<string, string> {
  const pairs = Object.entries(recordOf(value)).map(([name, each]) => [name, textOf(each)] as const);
  return Object.fromEntries(pairs.filter((pair) => pair[1] !== null && NAME.test(pair[0]))) as Record<string, string>;
}

const NAME = /^[^=\0\n]{1,128}$/;

// A string, a number or a boolean as text; otherwise null.
export const textOf = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value).replaceAll("\0", "") : null;
