import type { ITerminalOptions } from "@xterm/xterm";
import type { PreferencesState } from "../state/page/preferences.ts";

// The options of a terminal's screen that follow the personal settings.
export function screenOptions(preferences: PreferencesState): ITerminalOptions {
  const { terminalFontFamily, terminalFontSize, cursorBlink, cursorStyle, scrollback, spokenTerminals } = preferences;
  const fallback = getComputedStyle(document.documentElement).getPropertyValue("--mono");
  return {
    cursorBlink,
    cursorStyle,
    fontFamily: terminalFontFamily.trim() === "" ? fallback : `${terminalFontFamily}, ${fallback}`,
    fontSize: terminalFontSize,
    scrollback,
    screenReaderMode: spokenTerminals,
  };
}
