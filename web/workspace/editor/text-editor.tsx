import { EditorSelection } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { bufferFor } from "./code/buffer.ts";
import { wrapping } from "./code/setup.ts";
import type { Place } from "../state/page/cursor.ts";
import { firstTextDrawn } from "../browser/first-text.ts";

// The code editor. Loaded when the first text is opened.
export default function TextEditor({ path }: { path: string }) {
  const workspace = useWorkspace();
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const wrapLines = useWorkspaceState("preferences", (state) => state.wrapLines);
  const wanted = useWorkspaceState("cursor", (state) => state.wanted);
  const focus = useWorkspaceState("cursor", (state) => state.focus);

  useEffect(() => {
    if (!parent.current) return;
    const mounted = bufferFor(workspace, path).mount(parent.current);
    editor.current = mounted.view;
    requestAnimationFrame(firstTextDrawn);
    return () => {
      editor.current = null;
      mounted[Symbol.dispose]();
      workspace.cursor.at(null);
      workspace.cursor.in(null);
    };
  }, [workspace, path]);

  useEffect(() => {
    editor.current?.dispatch({ effects: wrapping.reconfigure(wrapLines ? EditorView.lineWrapping : []) });
  }, [wrapLines, path]);

  useEffect(() => {
    const place = workspace.cursor.take(path);
    if (place && editor.current) goTo(editor.current, place);
  }, [workspace, path, wanted]);

  useEffect(() => {
    if (focus !== path || !workspace.cursor.takeFocus(path)) return;
    // After the row or the dialog that asked for the file has done with the focus.
    setTimeout(() => editor.current?.focus());
  }, [workspace, path, focus]);

  return <div ref={parent} className="text-editor" />;
}

function goTo(view: EditorView, { line, column, length = 0 }: Place): void {
  const { doc } = view.state;
  const at = doc.line(Math.min(Math.max(1, line), doc.lines));
  const from = Math.min(at.from + column - 1, at.to);
  view.dispatch({
    selection: EditorSelection.single(from, Math.min(from + length, doc.length)),
    effects: EditorView.scrollIntoView(from, { y: "center" }),
  });
  view.focus();
}
