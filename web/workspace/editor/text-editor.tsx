import { EditorSelection } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { bufferFor } from "./code/buffer.ts";
import { wrapping } from "./code/setup.ts";
import type { TextLocation } from "../state/page/cursor.ts";
import { markFirstTextPainted } from "../browser/first-text.ts";

// The code editor, in a chunk of its own.
export default function TextEditor({ path }: { path: string }) {
  const workspace = useWorkspace();
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const wrapLines = useWorkspaceState("preferences", (state) => state.wrapLines);
  const reveal = useWorkspaceState("cursor", (state) => state.reveal);
  const focusPath = useWorkspaceState("cursor", (state) => state.focusPath);

  useEffect(() => {
    if (!container.current) return;
    const mounted = bufferFor(workspace, path).mount(container.current);
    editor.current = mounted.view;
    requestAnimationFrame(markFirstTextPainted);
    return () => {
      editor.current = null;
      mounted[Symbol.dispose]();
      workspace.cursor.setPosition(null);
      workspace.cursor.setLanguage(null);
    };
  }, [workspace, path]);

  useEffect(() => {
    editor.current?.dispatch({ effects: wrapping.reconfigure(wrapLines ? EditorView.lineWrapping : []) });
  }, [wrapLines, path]);

  useEffect(() => {
    const target = workspace.cursor.takeReveal(path);
    if (target && editor.current) goTo(editor.current, target);
  }, [workspace, path, reveal]);

  useEffect(() => {
    if (focusPath !== path || !workspace.cursor.takeFocus(path)) return;
    // Deferred until the tree row or dialog that opened the file has released the focus.
    setTimeout(() => editor.current?.focus());
  }, [workspace, path, focusPath]);

  return <div ref={container} className="text-editor" />;
}

function goTo(view: EditorView, { line, column, length = 0 }: TextLocation): void {
  const { doc } = view.state;
  const at = doc.line(Math.min(Math.max(1, line), doc.lines));
  const from = Math.min(at.from + column - 1, at.to);
  view.dispatch({
    selection: EditorSelection.single(from, Math.min(from + length, doc.length)),
    effects: EditorView.scrollIntoView(from, { y: "center" }),
  });
  view.focus();
}
