import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal as Screen, type ITheme } from "@xterm/xterm";
import type { Workspace } from "../state/workspace.ts";
import { openTerminalStream, type TerminalStream } from "./terminal-stream.ts";

export interface TerminalScreen extends Disposable {
  element: HTMLElement;
  // Fits the screen to its place and tells the program.
  fit(): void;
  focus(): void;
}

const screens = new Map<string, TerminalScreen>();

// The screen of a terminal. It stays alive while its tab is hidden, so that coming back costs nothing.
export function screenFor(workspace: Workspace, id: string): TerminalScreen {
  const known = screens.get(id);
  if (known) return known;
  const made = createScreen(workspace, id);
  screens.set(id, made);
  const unsubscribe = workspace.terminals.store.subscribe(({ list }) => {
    if (!list || list.some((terminal) => terminal.id === id)) return;
    unsubscribe();
    screens.delete(id);
    made[Symbol.dispose]();
  });
  return made;
}

function createScreen(workspace: Workspace, id: string): TerminalScreen {
  const { api, terminals, preferences } = workspace;
  const element = document.createElement("div");
  element.style.height = "100%";
  const screen = new Screen({
    allowProposedApi: true,
    cursorBlink: true,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 10_000,
    macOptionIsMeta: true,
    screenReaderMode: preferences.store.getState().spokenTerminals,
    theme: themeOfPage(),
  });
  const fitting = new FitAddon();
  screen.loadAddon(fitting);
  screen.loadAddon(new Unicode11Addon());
  screen.loadAddon(new WebLinksAddon((_event, uri) => window.open(uri, "_blank", "noopener")));
  screen.unicode.activeVersion = "11";

  const stream: TerminalStream = openTerminalStream({
    url: (offset) => api.socketUrl(`terminals/${id}${offset === null ? "" : `?offset=${offset}`}`),
    sink: {
      write: (bytes, drawn) => screen.write(bytes, drawn),
      reset: () => screen.reset(),
      resized: (cols, rows) => screen.resize(cols, rows),
    },
    onExit: (exit) => terminals.exited(id, exit),
  });
  screen.onData((text) => stream.input(text));
  screen.onBinary((text) => stream.input(text));
  // Keys of the page's own commands go on to the page; all others are the shell's.
  screen.attachCustomKeyEventHandler((event) => {
    if (event.ctrlKey && event.shiftKey && event.code === "KeyC" && screen.hasSelection()) {
      event.preventDefault();
      if (event.type === "keydown")
        void workspace.notices.attempt("Could not copy", () => navigator.clipboard.writeText(screen.getSelection()));
      return false;
    }
    return !(event.key === "F1" || (event.ctrlKey && event.key === "`"));
  });
  const themed = preferences.onThemeShown(() => {
    screen.options.theme = themeOfPage();
    screen.options.screenReaderMode = preferences.store.getState().spokenTerminals;
  });
  const reconnected = workspace.lines.add(stream);

  let opened = false;
  return {
    element,
    fit() {
      if (!element.isConnected || element.clientWidth === 0) return;
      if (!opened) screen.open(element);
      opened = true;
      const before = `${screen.cols}x${screen.rows}`;
      fitting.fit();
      if (before !== `${screen.cols}x${screen.rows}`) stream.resize(screen.cols, screen.rows);
    },
    focus: () => screen.focus(),
    [Symbol.dispose]() {
      stream[Symbol.dispose]();
      themed[Symbol.dispose]();
      reconnected[Symbol.dispose]();
      screen.dispose();
      element.remove();
    },
  };
}

function themeOfPage(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const ansi = Object.fromEntries(
    ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"].flatMap((name) => [
      [name, of(`ansi-${name}`)],
      [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, of(`ansi-bright-${name}`)],
    ]),
  );
  return {
    ...ansi,
    background: of("page"),
    foreground: of("text"),
    cursor: of("caret"),
    cursorAccent: of("page"),
    selectionBackground: of("selection"),
  };
}
