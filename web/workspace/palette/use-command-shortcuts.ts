import { useEffect, useRef } from "react";
import type { Command } from "./commands/command.ts";
import { matchesShortcut, reachesShell } from "../browser/shortcuts.ts";

// Runs commands by their shortcuts, anywhere on the page except in open dialogs. A shortcut that is pressed before the commands are
// loaded runs when they are, and the browser does not act on it.
export function useCommandShortcuts(commands: Command[] | null): void {
  const early = useRef<KeyboardEvent>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open], .scrim")) return;
      if (commands === null && !((event.ctrlKey || event.metaKey) && EARLY_KEYS.test(event.key))) return;
      const command = commands?.find((candidate) => isMeant(candidate, event));
      if (commands === null) early.current = event;
      else if (!command) return;
      event.preventDefault();
      event.stopPropagation();
      command?.run();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    if (commands !== null && early.current) onKeyDown(early.current);
    if (commands !== null) early.current = null;
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [commands]);
}

function isMeant({ handledBy, inTerminal, shortcut, isAvailable }: Command, event: KeyboardEvent): boolean {
  if (shortcut === undefined || !matchesShortcut(event, shortcut)) return false;
  const isIn = (selector: string) => event.target instanceof Element && event.target.closest(selector) !== null;
  const mayHandle = () => {
    if (handledBy !== undefined) return handledBy === "focused" && !isIn(".xterm, .cm-editor");
    if (VIM_KEYS.has(shortcut) && isIn(".cm-vimMode")) return false;
    // The find widget has its own shortcuts with Alt and a letter.
    if (/^Alt\+[A-Z]$/.test(shortcut) && isIn(".find-widget")) return false;
    return inTerminal || !isIn(".xterm") || !reachesShell(shortcut);
  };
  return mayHandle() && isAvailable?.() !== false;
}

// With Control or Command, the browser would print, save or search the page.
const EARLY_KEYS = /^[bdefghjps`,]$/i;

// Keys that Vim uses while its editor has the focus.
const VIM_KEYS = new Set(["Mod+B"]);
