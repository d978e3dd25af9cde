// Text from partners, sandboxes and engines may hold anything, also what makes a terminal do something: C0 and C1 controls
// (an escape sequence begins with one), separators that break a line, and marks that change the direction of text.
const CONTROL = "[\\p{Cc}\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]";
const EVERY_CONTROL = new RegExp(CONTROL, "gu");
// What `style.ts` writes.
const COLOUR = "\\u001b\\[[0-9;]*m";
const ALL_BUT_LAYOUT = new RegExp(`${COLOUR}|${CONTROL}`, "gu");

// Visible, as `\u001b`, so that nothing is hidden from the reader either. In JSON it means the same as before.
export const escapeControls = (text: string): string => text.replaceAll(EVERY_CONTROL, escape);

// The same for text of several lines that we have laid out and coloured.
export const escapeLaidOut = (text: string): string =>
  text.replaceAll(ALL_BUT_LAYOUT, (found) => (found === "\n" || found.length > 1 ? found : escape(found)));

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
