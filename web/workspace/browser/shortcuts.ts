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

// The shortcut on this machine, where a Mac uses another one.
export const shortcutFor = (pc: string, mac: string): string => (detectPlatform() === "mac" ? mac : pc);

export function formatShortcut(shortcut: string, platform = detectPlatform()): string {
  const named = shortcut.replace("Arrow", "");
  if (platform === "pc") return named.replace("Mod", "Ctrl");
  return named.replace("Mod", "⌘").replace("Ctrl", "⌃").replace("Shift", "⇧").replace("Alt", "⌥").replaceAll("+", "");
}

// Shift and Alt can change the character of a key press, but not the position of the key.
function codeOf(key: string): string {
  if (/^[A-Z]$/.test(key)) return `Key${key}`;
  if (/^\d$/.test(key)) return `Digit${key}`;
  return { "`": "Backquote", "\\": "Backslash", "-": "Minus" }[key] ?? "";
}

const detectPlatform = (): Platform => (/Mac|iPhone|iPad/.test(navigator.platform) ? "mac" : "pc");
