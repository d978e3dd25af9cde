// Characters that are invisible, or that make others appear in another order, so that a person would read something else.
const DECEPTIVE = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]/gu;

// A text of the agent as people may read it, in lines.
export function plainText(text: string, max: number): string {
  const start = text.length > 4 * max ? text.slice(0, 4 * max) : text;
  const plain = start.replaceAll(/\r\n?/g, "\n").replaceAll(DECEPTIVE, (found) => (found === "\n" || found === "\t" ? found : ""));
  return shorten(plain.trim(), max);
}

// On one line.
export const plainLine = (text: string, max: number): string => shorten(plainText(text, 2 * max).replaceAll(/\s+/g, " "), max);

const shorten = (text: string, max: number) => (text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text);
