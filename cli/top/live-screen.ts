import { emitKeypressEvents } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

// This screen has no cursor and does not wrap long lines.
const ALTERNATE_SCREEN = "\u001B[?1049h\u001B[?25l\u001B[?7l";
const NORMAL_SCREEN = "\u001B[?7h\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const CLEAR_LINE = "\u001B[K";
const CLEAR_BELOW = "\u001B[J";

// Draws the text of `render` again and again on a screen of its own, until the person presses q or Ctrl+C.
export async function showLive(render: (rows: number) => Promise<string>, intervalMs: number): Promise<void> {
  const { stdin, stdout } = process;
  const quit = new AbortController();
  const onKey = (_text: string, key: { name?: string; ctrl?: boolean } | undefined) => {
    if (key?.name === "q" || (key?.ctrl && key.name === "c")) quit.abort();
  };
  const end = () => quit.abort();
  emitKeypressEvents(stdin);
  stdin.setRawMode?.(true);
  stdin.on("keypress", onKey).resume();
  process.once("SIGTERM", end);
  stdout.write(ALTERNATE_SCREEN);
  try {
    while (!quit.signal.aborted) {
      const text = await render(stdout.rows);
      stdout.write(HOME + text.replaceAll("\n", `${CLEAR_LINE}\n`) + CLEAR_BELOW);
      await delay(intervalMs, undefined, { signal: quit.signal }).catch(() => {});
    }
  } finally {
    stdout.write(NORMAL_SCREEN);
    process.off("SIGTERM", end);
    stdin.off("keypress", onKey).pause();
    stdin.setRawMode?.(false);
  }
}
