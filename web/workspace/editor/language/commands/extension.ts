import { showSignatureHelp } from "@codemirror/lsp-client";
import { type Extension, Prec } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap } from "@codemirror/view";
import type { LanguageCommand } from "../../../state/tabs/editor-commands.ts";
import { describeError } from "../../../state/page/notices.ts";
import { languageActions } from "./actions.ts";
import { organizeImports, showCodeActions } from "./code-actions.ts";
import { formatDocument } from "./format.ts";
import { lightBulb } from "./light-bulb.ts";
import { findReferences, goToDefinition, type NavigationDeps } from "./navigation.ts";
import { problemElsewhere } from "./problem-elsewhere.ts";
import { goToProblem, problemTip } from "./problem-tip.ts";
import { renameField, renameSymbol } from "./rename.ts";
import { serverSymbols } from "./server-symbols.ts";

// A save goes on without the formatter.
const SILENT = { info: () => {}, error: () => {} };

type Run = (view: EditorView) => Promise<void> | void;

// The commands of a language server for one file, with their keys.
export function languageCommands(deps: NavigationDeps, path: string): Extension {
  const { api, languages, notices, openFile } = deps;
  const toProblem = (direction: 1 | -1) => (view: EditorView) => {
    if (goToProblem(view, direction)) return;
    const elsewhere = problemElsewhere(languages.store.getState().problems, path, direction);
    if (elsewhere) return openFile(elsewhere.path, elsewhere);
    if (!goToProblem(view, direction, { from: direction === 1 ? -1 : view.state.doc.length + 1 })) notices.info("No problems were found");
  };
  const commands: Record<LanguageCommand, Run> = {
    goToDefinition: (view) => goToDefinition(deps, view),
    findReferences: (view) => findReferences(deps, view),
    renameSymbol: (view) => renameSymbol(deps, view),
    formatDocument: (view) => formatDocument({ api, view, path, report: notices }),
    nextProblem: toProblem(1),
    previousProblem: toProblem(-1),
    quickFix: (view) => showCodeActions(deps, view),
    organizeImports: (view) => organizeImports(deps, view),
    signatureHelp: (view) => void showSignatureHelp(view),
  };
  const attempt = async (work: Promise<void> | void) => {
    try {
      await work;
    } catch (error) {
      notices.error(describeError(error));
    }
  };
  const bind = ([key, command]: [string, LanguageCommand]): KeyBinding => ({
    key,
    preventDefault: true,
    run(view) {
      void attempt(commands[command](view));
      return true;
    },
  });
  return [
    languageActions.of({
      run: (view, command) => void attempt(commands[command](view)),
      format: (view) => formatDocument({ api, view, path, report: SILENT }),
      symbols: serverSymbols,
    }),
    Prec.high(keymap.of(KEYS.map(bind))),
    // As in VS Code, Control follows a name and Alt adds a cursor.
    EditorView.clickAddsSelectionRange.of((event) => event.altKey),
    EditorView.domEventHandlers({
      mousedown(event, view) {
        const offset =
          event.button === 0 && (event.ctrlKey || event.metaKey) ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
        if (offset === null) return false;
        void attempt(goToDefinition(deps, view, offset));
        return true;
      },
    }),
    renameField,
    problemTip,
    lightBulb((view) => void attempt(commands.quickFix(view))),
  ];
}

const KEYS: [string, LanguageCommand][] = [
  ["F12", "goToDefinition"],
  ["Shift-F12", "findReferences"],
  ["F2", "renameSymbol"],
  ["Shift-Alt-f", "formatDocument"],
  ["F8", "nextProblem"],
  ["Shift-F8", "previousProblem"],
  ["Mod-.", "quickFix"],
  ["Shift-Alt-o", "organizeImports"],
];
