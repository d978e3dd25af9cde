import { Compartment, type Extension } from "@codemirror/state";
import { EditorView, gutter, GutterMarker, highlightTrailingWhitespace, highlightWhitespace, lineNumbers } from "@codemirror/view";
import type { PreferencesState } from "../../state/page/preferences.ts";

// The part of an editor that follows the personal settings.
export const personal = new Compartment();

// The same settings result in the same extension, so that an editor that has it already is not configured again.
export function personalSetup(preferences: PreferencesState): Extension {
  if (last?.preferences !== preferences) last = { preferences, extension: extensionFor(preferences) };
  return last.extension;
}

let last: { preferences: PreferencesState; extension: Extension } | null = null;

const extensionFor = ({ wrapLines, lineNumbers: numbers, whitespace, fontFamily, fontSize }: PreferencesState): Extension => [
  numbers === "off" ? [] : numbers === "relative" ? relativeLineNumbers : lineNumbers(),
  whitespace === "all" ? highlightWhitespace() : whitespace === "trailing" ? highlightTrailingWhitespace() : [],
  wrapLines ? EditorView.lineWrapping : [],
  // The look comes from CSS variables. Naming the values here makes the editor measure its text again.
  EditorView.editorAttributes.of({ "data-font": `${fontSize} ${fontFamily}` }),
];

// CodeMirror's own line numbers do not change with the cursor.
const relativeLineNumbers: Extension = gutter({
  class: "cm-lineNumbers",
  lineMarker(view, { from }) {
    const { doc, selection } = view.state;
    const line = doc.lineAt(from).number;
    const current = doc.lineAt(selection.main.head).number;
    return numberMarker(line === current ? line : Math.abs(line - current));
  },
  lineMarkerChange: ({ selectionSet, docChanged }) => selectionSet || docChanged,
  initialSpacer: ({ state }) => numberMarker(10 ** (String(state.doc.lines).length - 1)),
});

function numberMarker(value: number): GutterMarker {
  const marker = new (class extends GutterMarker {
    override eq(other: GutterMarker): boolean {
      return "value" in other && other.value === value;
    }
    override toDOM(): Text {
      return document.createTextNode(String(value));
    }
  })();
  return Object.assign(marker, { value });
}
