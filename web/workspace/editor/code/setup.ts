import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history as undoHistory, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { highlightSelectionMatches } from "@codemirror/search";
import { Compartment, EditorState, Prec, type Extension } from "@codemirror/state";
import {
  crosshairCursor,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  rectangularSelection,
} from "@codemirror/view";
import type { PreferencesState } from "../../state/page/preferences.ts";
import { findAndReplace } from "../find/extension.ts";
import { indentation, initialIndentation } from "../indentation/extension.ts";
import { otherCursors, placeReports } from "../together/cursors.ts";
import { blinkingCaret } from "./caret.ts";
import { vsCodeKeys } from "./editor-commands.ts";
import { indentGuides } from "./indent-guides.ts";
import { keys, noKeys } from "./keys.ts";
import { hasLongLineIn, longLines } from "./long-lines.ts";
import { personal, personalSetup } from "./personal.ts";
import { theme } from "./theme.ts";

export const language = new Compartment();
export const label = new Compartment();
export const pastEdits = new Compartment();
// The extensions of a language server.
export const intelligence = new Compartment();
export const noSupport: Extension = [];
// The extensions that are too slow for long lines. Matching a bracket reads the whole line.
export const shortLines = new Compartment();
export const shortLineSetup: Extension = bracketMatching();

export const labelFor = (path: string): Extension => EditorView.contentAttributes.of({ "aria-label": `Text of ${path}` });

// Larger files have no syntax highlighting, which would make typing slow.
export const MAX_HIGHLIGHTED_CHARS = 2_000_000;

// The extensions of every editor. The language is added when it is loaded.
export function editorSetup({ path, text, preferences }: { path: string; text: string; preferences: PreferencesState }): Extension {
  return [
    keys.of(noKeys),
    // Keeps the line endings of the file. Any other line ending stays in the text as a character.
    EditorState.lineSeparator.of(lineSeparatorOf(text)),
    indentation.of(initialIndentation(path, text, preferences)),
    EditorState.allowMultipleSelections.of(true),
    personal.of(personalSetup(preferences)),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    pastEdits.of(undoHistory()),
    foldGutter(),
    blinkingCaret,
    dropCursor(),
    indentOnInput(),
    shortLines.of(hasLongLineIn(text) ? [] : shortLineSetup),
    closeBrackets(),
    // A key that follows at once is meant for the list too, as in VS Code.
    autocompletion({ interactionDelay: 0 }),
    // Also before the fields of a snippet.
    Prec.highest(keymap.of([{ key: "Tab", run: acceptCompletion }])),
    rectangularSelection(),
    crosshairCursor(),
    highlightActiveLine(),
    indentGuides,
    longLines,
    highlightSelectionMatches(),
    findAndReplace,
    keymap.of([
      ...closeBracketsKeymap,
      ...vsCodeKeys,
      ...defaultKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    label.of(labelFor(path)),
    language.of(noSupport),
    intelligence.of(noSupport),
    placeReports,
    otherCursors,
    theme,
  ];
}

const lineSeparatorOf = (text: string): "\n" | "\r\n" => (text.includes("\r\n") && !/(^|[^\r])\n/.test(text) ? "\r\n" : "\n");
