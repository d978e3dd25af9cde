import { useLayoutEffect, useRef } from "react";
import type { Command } from "./commands/command.ts";
import { matchesShortcut, reachesShell } from "../browser/shortcuts.ts";
import type { LoadedCommands } from "./use-commands.ts";

// Runs commands by their shortcuts, anywhere on the page except in open dialogs. Those that are pressed before their commands are loaded
// run when they are, in their order. It listens before the page is painted for the first time.
export function useCommandShortcuts({ list, isComplete, loadNow }: LoadedCommands): void {
  const early = useRef<KeyboardEvent[]>([]);
  useLayoutEffect(() => {
    const commandFor = (event: KeyboardEvent) => list.find((candidate) => isMeant(candidate, event));
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open], .scrim")) return;
      const command = commandFor(event);
      if (command) command.run();
      else if (isComplete || !mayBeShortcut(event)) return;
      else {
        early.current.push(event);
        loadNow();
        if (!BROWSER_KEYS.test(event.key)) return;
      }
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    // An editor may have handled those that were left to the page.
    const waiting = isComplete ? early.current.splice(0) : [];
    for (const event of waiting) if (BROWSER_KEYS.test(event.key) || !event.defaultPrevented) commandFor(event)?.run();
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [list, isComplete, loadNow]);
}

const mayBeShortcut = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean => ctrlKey || metaKey || altKey || /^F\d/.test(key);

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
const BROWSER_KEYS = /^[bdefghjps`,]$/i;

// Keys that Vim uses while its editor has the focus.
const VIM_KEYS = new Set(["Mod+B"]);
