import { useEffect, useRef } from "react";
import { usePage, usePageState, useSandbox, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { afterPaint } from "./code/after-paint.ts";
import { bufferFor } from "./code/buffer.ts";
import { attachGitLater } from "./git/attach-later.ts";
import { attachOthers } from "./together/attach-others.ts";
import { attachEditor, goTo } from "./code/editor-handle.ts";
import { keys, loadKeys } from "./code/keys.ts";
import { personal, personalSetup } from "./code/personal.ts";
import type { MountedView } from "./code/buffer.ts";
import { markFirstText } from "../browser/first-text.ts";

export interface TextEditorProps {
  path: string;
  group: string;
  // Whether the group is the active one. The status bar shows the position in its editor.
  active: boolean;
}

// The code editor, in a chunk of its own.
export default function TextEditor({ path, group, active }: TextEditorProps) {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  const { cursor } = page;
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<MountedView | null>(null);
  const preferences = usePageState("preferences", (state) => state);
  const reveal = usePageState("cursor", (state) => state.reveal);
  const focusPath = usePageState("cursor", (state) => state.focusPath);

  useEffect(() => {
    if (!container.current) return;
    const deps = { ...page, ...sandbox, ...session, ...actions };
    const buffer = bufferFor(deps, path);
    const mounted = buffer.mount(container.current, group);
    editor.current = mounted;
    const attached = attachEditor(deps, mounted.view, path);
    const marks = attachGitLater(deps, mounted.view, path);
    const others = attachOthers(sandbox, mounted.view, path);
    void Promise.allSettled([afterPaint(), buffer.languageLoaded]).then(markFirstText);
    return () => {
      editor.current = null;
      others[Symbol.dispose]();
      marks[Symbol.dispose]();
      attached[Symbol.dispose]();
      mounted[Symbol.dispose]();
    };
  }, [page, sandbox, session, actions, path, group]);

  useEffect(() => {
    if (!active) return;
    editor.current?.report();
    return () => {
      cursor.setPosition(null);
      cursor.setLanguage(null);
    };
  }, [cursor, path, group, active]);

  useEffect(() => {
    const view = editor.current?.view;
    const chosen = personalSetup(preferences);
    if (view && personal.get(view.state) !== chosen) view.dispatch({ effects: personal.reconfigure(chosen) });
  }, [preferences, path, group]);

  useEffect(() => {
    const mounted = editor.current;
    void loadKeys({ ...page, ...actions }).then((chosen) => {
      if (!mounted || editor.current !== mounted || keys.get(mounted.view.state) === chosen) return;
      mounted.view.dispatch({ effects: keys.reconfigure(chosen) });
    });
  }, [page, actions, preferences.keymap, path, group]);

  useEffect(() => {
    const target = active ? cursor.takeReveal(path) : null;
    if (target && editor.current) goTo(editor.current.view, target);
  }, [cursor, path, active, reveal]);

  useEffect(() => {
    if (!active || focusPath !== path || !cursor.takeFocus(path)) return;
    // Deferred until the tree row or dialog that opened the file has released the focus.
    setTimeout(() => editor.current?.view.focus());
  }, [cursor, path, active, focusPath]);

  return <div ref={container} className="text-editor" />;
}
