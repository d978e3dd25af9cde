import { useEffect, useRef } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { bufferFor } from "./code/buffer.ts";
import { attachGitLater } from "./git/attach-later.ts";
import { attachOthers } from "./together/attach-others.ts";
import { attachEditor, goTo } from "./code/editor-handle.ts";
import { keys, loadKeys } from "./code/keys.ts";
import { personal, personalSetup } from "./code/personal.ts";
import type { MountedView } from "./code/buffer.ts";
import { markFirstTextPainted } from "../browser/first-text.ts";

export interface TextEditorProps {
  path: string;
  group: string;
  // Whether the group is the active one. The status bar shows the position in its editor.
  active: boolean;
}

// The code editor, in a chunk of its own.
export default function TextEditor({ path, group, active }: TextEditorProps) {
  const workspace = useWorkspace();
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<MountedView | null>(null);
  const preferences = useWorkspaceState("preferences", (state) => state);
  const reveal = useWorkspaceState("cursor", (state) => state.reveal);
  const focusPath = useWorkspaceState("cursor", (state) => state.focusPath);

  useEffect(() => {
    if (!container.current) return;
    const mounted = bufferFor(workspace, path).mount(container.current, group);
    editor.current = mounted;
    const attached = attachEditor(workspace, mounted.view, path);
    const marks = attachGitLater(workspace, mounted.view, path);
    const others = attachOthers(workspace, mounted.view, path);
    requestAnimationFrame(markFirstTextPainted);
    return () => {
      editor.current = null;
      others[Symbol.dispose]();
      marks[Symbol.dispose]();
      attached[Symbol.dispose]();
      mounted[Symbol.dispose]();
    };
  }, [workspace, path, group]);

  useEffect(() => {
    if (!active) return;
    editor.current?.report();
    return () => {
      workspace.cursor.setPosition(null);
      workspace.cursor.setLanguage(null);
    };
  }, [workspace, path, group, active]);

  useEffect(() => {
    const view = editor.current?.view;
    const chosen = personalSetup(preferences);
    if (view && personal.get(view.state) !== chosen) view.dispatch({ effects: personal.reconfigure(chosen) });
  }, [preferences, path, group]);

  useEffect(() => {
    const mounted = editor.current;
    void loadKeys(workspace).then((chosen) => {
      if (!mounted || editor.current !== mounted || keys.get(mounted.view.state) === chosen) return;
      mounted.view.dispatch({ effects: keys.reconfigure(chosen) });
    });
  }, [workspace, preferences.keymap, path, group]);

  useEffect(() => {
    const target = active ? workspace.cursor.takeReveal(path) : null;
    if (target && editor.current) goTo(editor.current.view, target);
  }, [workspace, path, active, reveal]);

  useEffect(() => {
    if (!active || focusPath !== path || !workspace.cursor.takeFocus(path)) return;
    // Deferred until the tree row or dialog that opened the file has released the focus.
    setTimeout(() => editor.current?.view.focus());
  }, [workspace, path, active, focusPath]);

  return <div ref={container} className="text-editor" />;
}
