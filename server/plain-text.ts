const MAX_LENGTH = 300;

// A text of a sandbox on one line: people read it on a page, and partners in an event.
export const plainText = (text: string, maxLength = MAX_LENGTH): string =>
  text
    // Replacing reads all of it.
    .slice(0, 4 * maxLength)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, maxLength);

// The same with its lines. Characters that join others, as in emoji, stay.
export const plainLines = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replaceAll(/(?![\n\t])[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "");
