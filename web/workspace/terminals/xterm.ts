import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal as Xterm, type ITerminalOptions, type ITheme } from "@xterm/xterm";
import type { Uses } from "../actions/actions.ts";
import type { PreferencesState } from "../state/page/preferences.ts";
import { fileLinkProvider, openHiddenUrl, openUrl } from "./output/terminal-links.ts";

export type XtermDeps = Uses<"api" | "dialogs" | "notices" | "openFile" | "openPageOfPort" | "ports" | "preferences">;

export interface StyledXterm extends Disposable {
  xterm: Xterm;
  fitAddon: FitAddon;
}

// An xterm with the person's settings, which it follows, and with links. What a program writes can change nothing but this screen.
export function createXterm(deps: XtermDeps, options: ITerminalOptions, onRestyled: () => void): StyledXterm {
  const { preferences } = deps;
  const xterm = new Xterm({
    allowProposedApi: true,
    ...screenOptions(preferences.store.getState()),
    lineHeight: 1.2,
    macOptionIsMeta: true,
    theme: readTheme(),
    linkHandler: { activate: (event, uri) => void openHiddenUrl(deps, event, uri) },
    ...options,
  });
  const fitAddon = new FitAddon();
  xterm.loadAddon(fitAddon);
  xterm.loadAddon(new Unicode11Addon());
  xterm.loadAddon(new WebLinksAddon((event, uri) => openUrl(deps, event, uri)));
  xterm.unicode.activeVersion = "11";
  xterm.registerLinkProvider(fileLinkProvider(deps, xterm));
  const themeListener = preferences.onApplied(() => {
    xterm.options = { ...screenOptions(preferences.store.getState()), theme: readTheme() };
    onRestyled();
  });
  return {
    xterm,
    fitAddon,
    [Symbol.dispose]() {
      themeListener[Symbol.dispose]();
      xterm.dispose();
    },
  };
}

function readTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const variable = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const ansi = Object.fromEntries(
    ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"].flatMap((name) => [
      [name, variable(`ansi-${name}`)],
      [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, variable(`ansi-bright-${name}`)],
    ]),
  );
  return {
    ...ansi,
    background: variable("page"),
    foreground: variable("text"),
    cursor: variable("caret"),
    cursorAccent: variable("page"),
    selectionBackground: variable("selection"),
  };
}

// The options of a terminal's screen that follow the personal settings.
function screenOptions(preferences: PreferencesState): ITerminalOptions {
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
