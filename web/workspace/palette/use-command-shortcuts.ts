import { useEffect } from "react";
import type { Command } from "./commands.ts";
import { isMac, matchesKeys } from "../browser/shortcuts.ts";

// The commands' keys, everywhere on the page. In a terminal most keys belong to the shell.
export function useCommandKeys(commands: Command[]): void {
  useEffect(() => {
    const mac = isMac();
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const inTerminal = event.target instanceof Element && event.target.closest(".xterm") !== null;
      const command = commands.find(({ keys, inTerminal: always }) => keys && (!inTerminal || always) && matchesKeys(event, keys, mac));
      if (!command) return;
      event.preventDefault();
      event.stopPropagation();
      command.run();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [commands]);
}
