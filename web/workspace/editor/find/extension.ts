import { findNext, findPrevious, search } from "@codemirror/search";
import { Prec, type Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { closeFind, openFind, openReplace, scrollToMatch, selectAllMatches } from "./find-commands.ts";
import { createFindPanel } from "./find-panel.ts";
import { findState } from "./find-state.ts";

// Find and replace with our own widget, and the keys of VS Code.
export const findAndReplace: Extension = [
  findState,
  search({ top: true, createPanel: createFindPanel, scrollToMatch }),
  Prec.high(
    keymap.of([
      { key: "Mod-f", run: openFind, scope: "editor search-panel" },
      { key: "Mod-h", mac: "Mod-Alt-f", run: openReplace, scope: "editor search-panel" },
      { key: "F3", run: findNext, shift: findPrevious, scope: "editor search-panel", preventDefault: true },
      { key: "Alt-Enter", run: selectAllMatches, scope: "search-panel" },
      { key: "Escape", run: closeFind, scope: "editor search-panel" },
    ]),
  ),
];
