import { EditorState, Text as DocumentText } from "@codemirror/state";
import fc from "fast-check";
import { expect, test } from "vitest";
import { applyChange, chunkAt, kindOf, lineChanges, lineStart, revertChange, setOriginal } from "./line-changes.ts";

function stateWith(original: string, text: string): EditorState {
  const state = EditorState.create({ doc: text, extensions: lineChanges });
  return state.update({ effects: setOriginal.of(DocumentText.of(original.split("\n"))) }).state;
}

const found = (state: EditorState) => state.field(lineChanges)!;

test("added, changed and removed lines are distinguished", () => {
  const [first, second, third] = ["first line\nand the next one\n", "then another\nand one more\n", "nearly at the end\nof the text\n"];
  const state = stateWith(`${first}changed\n${second}removed\n${third}`, `${first}CHANGED\n${second}${third}added\n`);
  const marks = found(state).chunks.map((chunk) => `${kindOf(chunk)} ${state.doc.lineAt(lineStart(chunk, state.doc)).number}`);
  expect(marks).toEqual(["changed 3", "removed 6", "added 8"]);
  const shown = Array.from({ length: state.doc.lines }, (_, i) => chunkAt(found(state), state.doc.line(i + 1).from, state.doc));
  expect(shown.map((chunk) => (chunk ? kindOf(chunk) : "-"))).toEqual(["-", "-", "changed", "-", "-", "removed", "-", "added", "-"]);
});

const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 8 }).map((all) => all.join("\n"));

// More changes than any two of these texts have. A change that cannot be undone would be found again without end.
const MAX_CHANGES = 20;

test("reverting every change restores the original, and staging every change stages the text", () => {
  fc.assert(
    fc.property(lines, lines, (original, text) => {
      let state = stateWith(original, text);
      for (let i = 0; i < MAX_CHANGES; i++) {
        const [chunk] = found(state).chunks;
        if (chunk) state = state.update(revertChange(state, found(state), chunk)).state;
      }
      expect(state.doc.toString()).toBe(original);

      let staged = stateWith(original, text);
      for (let i = 0; i < MAX_CHANGES; i++) {
        const [chunk] = found(staged).chunks;
        if (chunk) staged = staged.update({ effects: setOriginal.of(applyChange(staged, found(staged), chunk)) }).state;
      }
      expect(found(staged).original.toString()).toBe(text);
    }),
    { numRuns: 1000, examples: [["\n\na\na", "\na\na"]] },
  );
});

test("marks follow the text while it is edited", () => {
  fc.assert(
    fc.property(lines, lines, lines, (original, text, typed) => {
      const edited = stateWith(original, text).update({ changes: { from: 0, insert: `${typed}\n` } }).state;
      const all = found(edited).chunks;
      expect(all.every(({ fromB }) => fromB <= edited.doc.length + 1)).toBe(true);
      expect(all.length > 0).toBe(`${typed}\n${text}` !== original);
    }),
  );
});
