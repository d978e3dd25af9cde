import { FileX } from "lucide-react";
import { useEffect, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { loadModule } from "../browser/load-module.ts";
import { nameOf } from "../text/paths.ts";
import { TextOrView, viewOf } from "../viewers/text-or-view.tsx";
import { Viewer } from "../viewers/viewer.tsx";
import { closeTab } from "../state/actions/tab-actions.ts";
import { ConflictBar } from "./conflict-bar.tsx";
import type { TextEditorProps } from "./text-editor.tsx";

export function FileView({ path, group, active }: TextEditorProps) {
  const file = useWorkspaceState("documents", (state) => state.files[path]);
  if (file === undefined || file.kind === "loading") return <Loading />;
  if (file.kind === "failed") return <Failed path={path} group={group} message={file.message} gone={file.gone} />;
  if (file.kind !== "text") return <Viewer path={path} file={file} />;
  const view = viewOf(path);
  const editor = <LazyTextEditor key={path} path={path} group={group} active={active} />;
  return (
    <>
      <ConflictBar doc={file.document} />
      {view === null ? (
        editor
      ) : (
        <TextOrView key={path} doc={file.document} view={view}>
          {editor}
        </TextOrView>
      )}
    </>
  );
}

// Not `lazy`: React delays what Suspense reveals for 300 ms after the last reveal, and people wait for the first text.
type TextEditor = (typeof import("./text-editor.tsx"))["default"];
let loadedEditor: TextEditor | null = null;

function LazyTextEditor(props: TextEditorProps) {
  const [Editor, setEditor] = useState(() => loadedEditor);
  useEffect(() => {
    if (Editor) return;
    void loadModule(() => import("./text-editor.tsx")).then((loaded) => {
      loadedEditor = loaded.default;
      setEditor(() => loaded.default);
    });
  }, [Editor]);
  return Editor ? <Editor {...props} /> : <Loading />;
}

function Failed({ path, group, message, gone }: { path: string; group: string; message: string; gone: boolean }) {
  const workspace = useWorkspace();
  return (
    <div className="empty">
      <FileX size={32} strokeWidth={1.4} />
      <h2>{gone ? `${nameOf(path)} no longer exists` : `Could not open ${nameOf(path)}`}</h2>
      <p>{gone ? "It was deleted, moved or renamed." : message}</p>
      <div className="row">
        <button type="button" className="button" onClick={() => void workspace.documents.open(path)}>
          Try again
        </button>
        <button type="button" className="button" onClick={() => void closeTab(workspace, group, `file:${path}`)}>
          Close
        </button>
      </div>
    </div>
  );
}

const Loading = () => (
  <div className="loading-center" aria-busy="true">
    <div className="spinner" />
  </div>
);
