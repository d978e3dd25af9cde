import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal as Xterm, type ITheme } from "@xterm/xterm";
import type { Workspace } from "../state/workspace.ts";
import { openTerminalStream, type TerminalStream } from "./terminal-stream.ts";

export interface TerminalScreen extends Disposable {
  element: HTMLElement;
  // Fits the screen to its container and reports the new size to the program.
  fit(): void;
  focus(): void;
}

const screens = new Map<string, TerminalScreen>();

// Returns the screen of a terminal. It stays alive while its tab is hidden, so that showing it again is instant.
export function screenFor(workspace: Workspace, id: string): TerminalScreen {
  const known = screens.get(id);
  if (known) return known;
  const created = createScreen(workspace, id);
  screens.set(id, created);
  const unsubscribe = workspace.terminals.store.subscribe(({ list }) => {
    if (!list || list.some((terminal) => terminal.id === id)) return;
    unsubscribe();
    screens.delete(id);
    created[Symbol.dispose]();
  });
  return created;
}

function createScreen(workspace: Workspace, id: string): TerminalScreen {
  const { api, terminals, preferences } = workspace;
  const element = document.createElement("div");
  element.style.height = "100%";
  const xterm = new Xterm({
    allowProposedApi: true,
    cursorBlink: true,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 10_000,
    macOptionIsMeta: true,
    screenReaderMode: preferences.store.getState().spokenTerminals,
    theme: readTheme(),
  });
  const fitAddon = new FitAddon();
  xterm.loadAddon(fitAddon);
  xterm.loadAddon(new Unicode11Addon());
  xterm.loadAddon(new WebLinksAddon((_event, uri) => window.open(uri, "_blank", "noopener")));
  xterm.unicode.activeVersion = "11";

  const stream: TerminalStream = openTerminalStream({
    url: (offset) => api.socketUrl(`terminals/${id}${offset === null ? "" : `?offset=${offset}`}`),
    sink: {
      write: (bytes, drawn) => xterm.write(bytes, drawn),
      reset: () => xterm.reset(),
      resized: (cols, rows) => xterm.resize(cols, rows),
    },
    onExit: (exit) => terminals.exited(id, exit),
  });
  xterm.onData((text) => stream.input(text));
  xterm.onBinary((text) => stream.input(text));
  // The page handles the shortcuts of its commands; the shell gets all other keys.
  xterm.attachCustomKeyEventHandler((event) => {
    if (event.ctrlKey && event.shiftKey && event.code === "KeyC" && xterm.hasSelection()) {
      event.preventDefault();
      if (event.type === "keydown")
        void workspace.notices.attempt("Could not copy the selection", () => navigator.clipboard.writeText(xterm.getSelection()));
      return false;
    }
    return !(event.key === "F1" || (event.ctrlKey && event.key === "`"));
  });
  const themeListener = preferences.onApplied(() => {
    xterm.options.theme = readTheme();
    xterm.options.screenReaderMode = preferences.store.getState().spokenTerminals;
  });
  const registration = workspace.connections.add(stream);

  let opened = false;
  return {
    element,
    fit() {
      if (!element.isConnected || element.clientWidth === 0) return;
      if (!opened) xterm.open(element);
      opened = true;
      const before = `${xterm.cols}x${xterm.rows}`;
      fitAddon.fit();
      if (before !== `${xterm.cols}x${xterm.rows}`) stream.resize(xterm.cols, xterm.rows);
    },
    focus: () => xterm.focus(),
    [Symbol.dispose]() {
      stream[Symbol.dispose]();
      themeListener[Symbol.dispose]();
      registration[Symbol.dispose]();
      xterm.dispose();
      element.remove();
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
