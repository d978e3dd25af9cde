// Text from partners, sandboxes and engines can contain characters that control a terminal: C0 and C1 controls (which start escape
// sequences), line separators, and marks that change the direction of text.
const CONTROL = "[\\p{Cc}\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]";
const EVERY_CONTROL = new RegExp(CONTROL, "gu");
// The sequences that `style.ts` writes.
const COLOUR = "\\u001b\\[[0-9;]*m";
const ALL_BUT_LAYOUT = new RegExp(`${COLOUR}|${CONTROL}`, "gu");

// Makes controls visible, as `\u001b`. Inside JSON this does not change the value.
export const escapeControls = (text: string): string => text.replaceAll(EVERY_CONTROL, toEscape);

// Does the same for formatted text, and keeps its line breaks and colours.
export const escapeExceptLayout = (text: string): string =>
  text.replaceAll(ALL_BUT_LAYOUT, (found) => (found === "\n" || found.length > 1 ? found : toEscape(found)));

const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
