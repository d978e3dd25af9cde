import { expect, test } from "vitest";
import { createActiveEditor, type TextEditorHandle } from "./active-editor.ts";

const editorOf = (path: string): TextEditorHandle => ({
  path,
  lines: 1,
  run: () => {},
  hasConflicts: false,
  hasLanguageServer: false,
  runLanguage: () => {},
  format: async () => {},
  goTo: () => {},
  selection: () => null,
  symbols: () => Promise.resolve([]),
});

test("the editor that had the focus last is the active one", () => {
  const active = createActiveEditor();
  expect(active.current()).toBeNull();
  const left = active.attach(editorOf("left.ts"));
  const right = active.attach(editorOf("right.ts"));
  expect(active.current()?.path).toBe("right.ts");
  left.activate();
  expect(active.current()?.path).toBe("left.ts");
  left[Symbol.dispose]();
  expect(active.current()?.path).toBe("right.ts");
  right[Symbol.dispose]();
  expect(active.current()).toBeNull();
});
