const MAX_LENGTH = 300;

// A text of a sandbox on one line: people read it on a page, and partners in an event.
export const plainText = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_LENGTH);
