// The keys that touch keyboards lack.
export type TouchKey = "Escape" | "Tab" | "Up" | "Down" | "Left" | "Right";

const arrows = { Up: "A", Down: "B", Right: "C", Left: "D" };

// The bytes that a terminal sends for a key. Programs such as editors can request other codes for the arrows.
export function bytesOf(key: TouchKey, { applicationCursorKeys }: { applicationCursorKeys: boolean }): string {
  if (key === "Escape") return "\x1b";
  if (key === "Tab") return "\t";
  return `\x1b${applicationCursorKeys ? "O" : "["}${arrows[key]}`;
}

// The control character of a typed character, as Ctrl+C is the character 3. Others stay as they are.
export function withControl(text: string): string {
  const code = text.toUpperCase().charCodeAt(0);
  return text.length === 1 && code >= 0x40 && code < 0x60 ? String.fromCharCode(code & 0x1f) : text;
}
