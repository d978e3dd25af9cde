import type { Uses } from "../../actions/actions.ts";
import type { Command } from "./command.ts";

// The commands that open the palette. They are there from the beginning, and what a person types next is kept for it.
export function paletteCommands({ activeEditor, palette }: Uses<"activeEditor" | "palette">): Command[] {
  const hasEditor = () => activeEditor.current() !== null;
  return [
    { id: "files.open", title: "Go to file…", shortcut: "Mod+P", inTerminal: true, run: () => palette.open("files") },
    { id: "palette", title: "Show all commands", shortcut: "Mod+Shift+P", run: () => palette.open("commands") },
    { id: "palette.f1", title: "", shortcut: "F1", inTerminal: true, run: () => palette.open("commands") },
    { id: "line.open", title: "Go to line…", shortcut: "Ctrl+G", isAvailable: hasEditor, run: () => palette.open("line") },
    { id: "symbols.open", title: "Go to symbol…", shortcut: "Mod+Shift+O", isAvailable: hasEditor, run: () => palette.open("symbols") },
  ];
}
