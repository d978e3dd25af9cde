import { StateField, type Extension, type Text, type Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

// As in VS Code, a text with a longer line has no syntax highlighting: every key would parse the rest of the line again.
const MAX_LINE_CHARS = 20_000;

// Whether a text has such a line.
export const hasLongLine = StateField.define<boolean>({
  create: ({ doc }) => isLong(doc),
  update(long, { docChanged, changes, newDoc }: Transaction) {
    if (!docChanged) return long;
    if (long) return isLong(newDoc);
    let found = false;
    changes.iterChangedRanges((_fromA, _toA, fromB, toB) => {
      const last = newDoc.lineAt(toB).number;
      for (let number = newDoc.lineAt(fromB).number; number <= last; number++) found ||= newDoc.line(number).length > MAX_LINE_CHARS;
    });
    return found;
  },
});

export function hasLongLineIn(text: string): boolean {
  for (let from = 0; text.length - from > MAX_LINE_CHARS;) {
    const end = text.indexOf("\n", from);
    if (end === -1 || end - from > MAX_LINE_CHARS) return true;
    from = end + 1;
  }
  return false;
}

function isLong(doc: Text): boolean {
  if (doc.length <= MAX_LINE_CHARS) return false;
  for (const line of doc.iterLines()) if (line.length > MAX_LINE_CHARS) return true;
  return false;
}

// CodeMirror lets the browser insert a letter, and then compares the whole line with the text to find out which one it was. In a long
// line, the letter is inserted into the text instead.
const typing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const { data, inputType, cancelable, isComposing } = event;
    const { main, ranges } = state.selection;
    if (inputType !== "insertText" || !data || !cancelable || isComposing || view.composing || state.readOnly) return false;
    if (ranges.length > 1 || state.doc.lineAt(main.head).length <= MAX_LINE_CHARS) return false;
    const insert = () => state.update(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    const isHandled = state.facet(EditorView.inputHandler).some((handle) => handle(view, main.from, main.to, data, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
});

export const longLines: Extension = [hasLongLine, typing];
