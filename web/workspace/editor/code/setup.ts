import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  crosshairCursor,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from "@codemirror/view";
import { theme } from "./theme.ts";

export const language = new Compartment();
export const wrapping = new Compartment();

// Above this a file is shown plainly: colouring it would make typing slow.
export const MAX_COLOURED_CHARS = 2_000_000;

// Everything that an editor of this workspace can do, except for its language.
export function editorSetup(path: string, text: string, wrapLines: boolean): Extension {
  return [
    // The separator of the file as it is; any other line end stays in the text as a character, and so in the file.
    EditorState.lineSeparator.of(lineSeparatorOf(text)),
    indentUnit.of(indentOf(text)),
    EditorState.allowMultipleSelections.of(true),
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    foldGutter(),
    drawSelection(),
    dropCursor(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    autocompletion(),
    rectangularSelection(),
    crosshairCursor(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${path}` }),
    language.of([]),
    wrapping.of(wrapLines ? EditorView.lineWrapping : []),
    theme,
  ];
}

export const lineSeparatorOf = (text: string): "\n" | "\r\n" => (text.includes("\r\n") && !/(^|[^\r])\n/.test(text) ? "\r\n" : "\n");

function indentOf(text: string): string {
  const first = /^(\t+| {2,8})\S/m.exec(text.slice(0, 20_000))?.[1];
  if (first === undefined) return "  ";
  return first.startsWith("\t") ? "\t" : first.length >= 4 && first.length % 4 === 0 ? "    " : "  ";
}
