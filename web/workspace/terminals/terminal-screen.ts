import type { IMarker } from "@xterm/xterm";
import { matchesShortcut } from "../browser/shortcuts.ts";
import { copyText } from "../browser/clipboard.ts";
import type { Uses } from "../actions/actions.ts";
import { findText, nextMatch, type FindDirection } from "./output/buffer-text.ts";
import { createGpuRenderer } from "./gpu-renderer.ts";
import { bytesOf, withControl, type TouchKey } from "./output/key-bytes.ts";
import { openTerminalStream, type TerminalStream } from "./terminal-stream.ts";
import { createXterm, type XtermDeps } from "./xterm.ts";

type Deps = XtermDeps & Uses<"connections" | "mayEdit" | "terminals">;

export interface TerminalScreen extends Disposable {
  // Shows the screen in a container, and fits it to the container's size, until the result is disposed.
  mount(container: HTMLElement): Disposable;
  focus(): void;
  // Removes everything above the prompt.
  clear(): void;
  // Sends a key that touch keyboards lack.
  press(key: TouchKey): void;
  // Combines the next character that is typed with Ctrl, and then calls the listener. null: types as usual.
  onControlUsed(listener: (() => void) | null): void;
  // Selects a match. The search starts at the selection or, because xterm drops it when the size changes, at the last match.
  find(text: string, direction: FindDirection, last: Found | null): Found;
}

export interface Found {
  // The number of the place that is selected, and how many there are.
  number: number;
  count: number;
  // Moves with the output. Absent: there is no such place, or a program has the whole screen.
  place?: { marker: IMarker; column: number } | undefined;
}

// A person's own events. xterm's data is no sign of a person: it also answers questions of programs.
const USES = ["focusin", "keydown", "input", "paste"] as const;
const ROOM_ABOVE_PX = 6;

const screens = new Map<string, TerminalScreen>();

// Returns the screen of a terminal. It stays alive while its tab is hidden, so that showing it again is instant.
export function screenFor(deps: Deps, id: string): TerminalScreen {
  const known = screens.get(id);
  if (known) return known;
  const created = createScreen(deps, id);
  screens.set(id, created);
  const unsubscribe = deps.terminals.store.subscribe(({ list }) => {
    if (!list || list.some((terminal) => terminal.id === id)) return;
    unsubscribe();
    screens.delete(id);
    created[Symbol.dispose]();
  });
  return created;
}

function createScreen(deps: Deps, id: string): TerminalScreen {
  const { mayEdit, api, terminals, preferences } = deps;
  const element = document.createElement("div");
  element.style.height = "100%";
  const styled = createXterm(deps, { disableStdin: !mayEdit }, () => {
    if (!element.isConnected) return;
    gpu.apply(preferences.store.getState().terminalGpu);
    fit();
  });
  const { xterm, fitAddon } = styled;
  const gpu = createGpuRenderer(xterm, () => element.isConnected && fit());

  let used = false;
  xterm.onKey(() => (used = mayEdit));
  const stream: TerminalStream = openTerminalStream({
    url: (offset) => api.socketUrl(`terminals/${id}${offset === null ? "" : `?offset=${offset}`}`),
    sink: {
      write: (bytes, drawn) => xterm.write(bytes, drawn),
      reset: () => xterm.reset(),
      resized(cols, rows) {
        xterm.resize(cols, rows);
        showCursor();
      },
      cleared: () => xterm.clear(),
    },
    // A shell that a person left has nothing more to show.
    onExit: (exit) => (exit.code === 0 && used ? void terminals.close(id) : terminals.exited(id, exit)),
  });
  // Set while the next character that is typed is combined with Ctrl.
  let controlUsed: (() => void) | null = null;
  xterm.onData((text) => {
    stream.input(controlUsed ? withControl(text) : text);
    controlUsed?.();
  });
  // Mouse reports that are no text. Each character stands for a byte.
  xterm.onBinary((text) => stream.input(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  // The page handles the shortcuts of its commands; the shell gets all other keys.
  xterm.attachCustomKeyEventHandler((event) => {
    if (event.ctrlKey && event.shiftKey && event.code === "KeyC" && xterm.hasSelection()) {
      event.preventDefault();
      if (event.type === "keydown") void deps.notices.attempt("Could not copy the selection", () => copyText(xterm.getSelection()));
      return false;
    }
    if (matchesShortcut(event, "Mod+F")) {
      event.preventDefault();
      if (event.type === "keydown") terminals.request("find");
      return false;
    }
    return !(event.key === "F1" || (event.ctrlKey && event.key === "`"));
  });
  const registration = deps.connections.add(stream);

  // Reports the size that fits the container. The screen itself always has the terminal's size, which may fit another browser: a screen
  // of any other size would break the lines of the program's output. A viewer decides no size.
  let fitting = { cols: 0, rows: 0 };
  function fit(): void {
    const { cols = NaN, rows = NaN } = fitAddon.proposeDimensions() ?? {};
    if (Number.isNaN(cols + rows) || (fitting.cols === cols && fitting.rows === rows)) return;
    fitting = { cols, rows };
    if (mayEdit) stream.resize(cols, rows);
  }
  function use(): void {
    if (!mayEdit) return;
    fit();
    stream.use();
  }

  // Keeps the line with the cursor in view if the screen is higher than its container, until the person scrolls away from it.
  let shownTop = 0;
  let showing = false;
  function showCursor(): void {
    if (showing || xterm.rows <= fitting.rows) return;
    showing = true;
    requestAnimationFrame(() => {
      showing = false;
      const container = element.parentElement;
      if (!container || disposed || container.scrollTop !== shownTop) return;
      const rowHeight = (xterm.element?.querySelector(".xterm-screen")?.clientHeight ?? 0) / xterm.rows;
      container.scrollTop = (xterm.buffer.active.cursorY + 1) * rowHeight + ROOM_ABOVE_PX - container.clientHeight;
      shownTop = container.scrollTop;
    });
  }
  xterm.onCursorMove(showCursor);
  const isAtBottom = () => xterm.buffer.active.viewportY === xterm.buffer.active.baseY;

  // Whether the end of the output was in view when the screen was last visible.
  let wasAtBottom = true;
  let disposed = false;
  return {
    mount(container) {
      container.append(element);
      if (!xterm.element) xterm.open(element);
      gpu.apply(preferences.store.getState().terminalGpu);
      // xterm draws nothing until its own observer reports that the screen is visible, and a resize before that moves the view
      // away from the prompt. Observers are called in the order of their creation, so this one is called after xterm's.
      let visible = false;
      const visibility = new IntersectionObserver((entries) => {
        const isShown = entries.at(-1)?.isIntersecting ?? false;
        if (isShown && !visible) {
          fit();
          // Other browsers may have resized the terminal while it was hidden here.
          if (wasAtBottom) requestAnimationFrame(() => disposed || xterm.scrollToBottom());
        }
        visible = isShown;
      });
      visibility.observe(element);
      const resized = new ResizeObserver(() => visible && fit());
      resized.observe(container);
      // Several browsers share a terminal, and the one in use decides its size.
      for (const name of USES) element.addEventListener(name, use);
      return {
        [Symbol.dispose]() {
          wasAtBottom = isAtBottom();
          visibility.disconnect();
          resized.disconnect();
          for (const name of USES) element.removeEventListener(name, use);
          element.remove();
          gpu[Symbol.dispose]();
        },
      };
    },
    focus: () => xterm.focus(),
    clear() {
      xterm.clear();
      stream.clear();
    },
    press(key) {
      use();
      stream.input(bytesOf(key, { applicationCursorKeys: xterm.modes.applicationCursorKeysMode }));
    },
    onControlUsed(listener) {
      controlUsed = listener;
    },
    find(text, direction, last) {
      const buffer = xterm.buffer.active;
      const matches = findText(buffer, text);
      const at = nextMatch(matches, xterm.getSelectionPosition()?.start ?? positionOf(last), direction);
      last?.place?.marker.dispose();
      const match = matches[at];
      if (!match) {
        xterm.clearSelection();
        return { number: 0, count: 0 };
      }
      xterm.select(match.column, match.row, match.length);
      xterm.scrollToLine(Math.max(0, match.row - Math.floor(xterm.rows / 2)));
      const marker = buffer.type === "normal" ? xterm.registerMarker(match.row - buffer.baseY - buffer.cursorY) : undefined;
      return { number: at + 1, count: matches.length, place: marker && { marker, column: match.column } };
    },
    [Symbol.dispose]() {
      disposed = true;
      stream[Symbol.dispose]();
      registration[Symbol.dispose]();
      gpu[Symbol.dispose]();
      styled[Symbol.dispose]();
      element.remove();
    },
  };
}

// undefined: the line is gone.
const positionOf = (found: Found | null) =>
  found?.place && !found.place.marker.isDisposed ? { x: found.place.column, y: found.place.marker.line } : undefined;
