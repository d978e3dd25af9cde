const MAX_LENGTH = 200;
// Control characters, ends of lines, and characters that change the direction of the text around them.
const UNSEEN = /[\p{Cc}\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\s]+/gu;

// One line for people, from a text or the words of a command, which can contain anything and be very long.
export function titleOf(text: string | readonly string[]): string {
  const words = typeof text === "string" ? [text] : text.slice(0, MAX_LENGTH);
  const line = words.map((word) => word.slice(0, 2 * MAX_LENGTH)).join(" ");
  const shown = line.replaceAll(UNSEEN, " ").trim();
  return shown.length > MAX_LENGTH ? `${shown.slice(0, MAX_LENGTH - 1).toWellFormed()}…` : shown;
}
