// Whether a key press is the one that a command names, like "Mod+Shift+P". "Mod" is Command on a Mac and Control elsewhere.
export function matchesKeys(event: KeyPress, keys: string, mac: boolean): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1) ?? "";
  const wants = (name: string) => parts.includes(name);
  const control = wants("Ctrl") || (wants("Mod") && !mac);
  const command = wants("Mod") && mac;
  return (
    event.ctrlKey === control &&
    event.metaKey === command &&
    event.shiftKey === wants("Shift") &&
    event.altKey === wants("Alt") &&
    (event.key.toLowerCase() === key.toLowerCase() || event.code === codeOf(key))
  );
}

// The same keys as a person reads them.
export const showKeys = (keys: string, mac: boolean): string =>
  mac
    ? keys.replace("Mod", "⌘").replace("Ctrl", "⌃").replace("Shift", "⇧").replace("Alt", "⌥").replaceAll("+", "")
    : keys.replace("Mod", "Ctrl");

export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

// With Shift or Alt the letter that arrives may be another one; the place on the keyboard stays.
function codeOf(key: string): string {
  if (/^[A-Z]$/.test(key)) return `Key${key}`;
  if (/^\d$/.test(key)) return `Digit${key}`;
  return key === "`" ? "Backquote" : "";
}

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);
