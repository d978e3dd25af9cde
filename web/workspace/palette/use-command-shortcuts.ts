import { useEffect } from "react";
import type { Command } from "./commands/command.ts";
import { matchesShortcut, reachesShell } from "../browser/shortcuts.ts";

// Runs commands by their shortcuts, anywhere on the page except in open dialogs.
export function useCommandShortcuts(commands: Command[]): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const isIn = (selector: string) => event.target instanceof Element && event.target.closest(selector) !== null;
      const mayHandle = ({ handledBy, inTerminal, shortcut = "" }: Command) => {
        if (handledBy !== undefined) return handledBy === "focused" && !isIn(".xterm, .cm-editor");
        if (VIM_KEYS.has(shortcut) && isIn(".cm-vimMode")) return false;
        // The find widget has its own shortcuts with Alt.
        if (shortcut.startsWith("Alt+") && isIn(".find-widget")) return false;
        return inTerminal || !isIn(".xterm") || !reachesShell(shortcut);
      };
      const command = commands.find(
        (candidate) =>
          candidate.shortcut !== undefined &&
          matchesShortcut(event, candidate.shortcut) &&
          mayHandle(candidate) &&
          candidate.isAvailable?.() !== false,
      );
      if (!command) return;
      event.preventDefault();
      event.stopPropagation();
      command.run();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [commands]);
}

// Keys that Vim uses while its editor has the focus.
const VIM_KEYS = new Set(["Mod+B"]);
