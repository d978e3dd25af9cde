// Keyboard shortcuts, written as "Mod+Shift+P". "Mod" is Command on a Mac and Control elsewhere.
export type Platform = "mac" | "pc";

export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

export function matchesShortcut(event: KeyPress, shortcut: string, platform = detectPlatform()): boolean {
  const parts = shortcut.split("+");
  const key = parts.at(-1) ?? "";
  const has = (modifier: string) => parts.includes(modifier);
  return (
    event.ctrlKey === (has("Ctrl") || (has("Mod") && platform === "pc")) &&
    event.metaKey === (has("Mod") && platform === "mac") &&
    event.shiftKey === has("Shift") &&
    event.altKey === has("Alt") &&
    (event.key.toLowerCase() === key.toLowerCase() || event.code === codeOf(key))
  );
}

// Whether a terminal sends the key of a shortcut to its program. Terminals have no codes for Command and for Control with Shift.
export function reachesShell(shortcut: string, platform = detectPlatform()): boolean {
  const has = (modifier: string) => shortcut.split("+").includes(modifier);
  if (has("Mod") && platform === "mac") return false;
  return !((has("Ctrl") || has("Mod")) && has("Shift"));
}

export function formatShortcut(shortcut: string, platform = detectPlatform()): string {
  if (platform === "pc") return shortcut.replace("Mod", "Ctrl");
  return shortcut.replace("Mod", "⌘").replace("Ctrl", "⌃").replace("Shift", "⇧").replace("Alt", "⌥").replaceAll("+", "");
}

// Shift and Alt can change the character of a key press, but not the position of the key.
function codeOf(key: string): string {
  if (/^[A-Z]$/.test(key)) return `Key${key}`;
  if (/^\d$/.test(key)) return `Digit${key}`;
  return { "`": "Backquote", "\\": "Backslash" }[key] ?? "";
}

const detectPlatform = (): Platform => (/Mac|iPhone|iPad/.test(navigator.platform) ? "mac" : "pc");
