import type { Command } from "./command.ts";

// The commands of a viewer, who changes nothing. A new command is not among them until it is listed here.
const VIEWER_COMMANDS = new Set(
  [
    "files.open tree.refresh tree.collapse palette palette.f1 line.open symbols.open file.reveal markdown.preview download wrap spoken settings shortcuts keymap.vim",
    "view.files view.search view.changes view.problems view.ports view.agent view.side view.terminals view.terminals.tick terminal.find git.history git.blame",
    "settings.json theme.system theme.light theme.dark editor.find editor.findNext editor.findPrevious editor.selectNextOccurrence",
    "editor.selectAllOccurrences editor.addCursorAbove editor.addCursorBelow editor.selectLine editor.expandSelection editor.undoSelection",
    "editor.matchingBracket editor.fold editor.unfold editor.foldAll editor.unfoldAll editor.nextChange editor.previousChange editor.nextConflict",
  ].flatMap((ids) => ids.split(" ")),
);

export const isViewerCommand = ({ id }: Command): boolean => /^(tab|group)\./.test(id) || VIEWER_COMMANDS.has(id);
