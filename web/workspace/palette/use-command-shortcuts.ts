import { useEffect } from "react";
import type { Command } from "./command.ts";
import { matchesShortcut, reachesShell } from "../browser/shortcuts.ts";

// Runs commands by their shortcuts, anywhere on the page except in open dialogs.
export function useCommandShortcuts(commands: Command[]): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const inTerminal = event.target instanceof Element && event.target.closest(".xterm") !== null;
      const command = commands.find(
        (candidate) =>
          candidate.shortcut &&
          (!inTerminal || candidate.inTerminal || !reachesShell(candidate.shortcut)) &&
          matchesShortcut(event, candidate.shortcut),
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
