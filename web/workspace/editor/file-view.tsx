import { Download, FileQuestion, FileX } from "lucide-react";
import { useEffect, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { loadModule } from "../browser/load-module.ts";
import { formatBytes, nameOf } from "../text/paths.ts";
import { closeTab } from "../state/tab-actions.ts";
import { ConflictBar } from "./conflict-bar.tsx";
import type { TextEditorProps } from "./text-editor.tsx";

export function FileView({ path, group, active }: TextEditorProps) {
  const file = useWorkspaceState("documents", (state) => state.files[path]);
  if (file === undefined || file.kind === "loading") return <Loading />;
  if (file.kind === "failed") return <Failed path={path} group={group} message={file.message} gone={file.gone} />;
  if (file.kind === "image") return <ImageView path={path} version={file.version} />;
  if (file.kind !== "text") return <NotText path={path} size={file.size} large={file.kind === "large"} />;
  return (
    <>
      <ConflictBar doc={file.document} />
      <LazyTextEditor key={path} path={path} group={group} active={active} />
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

function ImageView({ path, version }: { path: string; version: string }) {
  const { api } = useWorkspace();
  return (
    <div className="image-view">
      <img src={`${api.fileUrl(path)}&version=${encodeURIComponent(version)}`} alt={nameOf(path)} />
    </div>
  );
}

function NotText({ path, size, large }: { path: string; size: number; large: boolean }) {
  const { api } = useWorkspace();
  return (
    <div className="empty">
      <FileQuestion size={32} strokeWidth={1.4} />
      <h2>{nameOf(path)} cannot be shown here</h2>
      <p>
        {large
          ? `At ${formatBytes(size)} it is too large for the editor. Download it instead.`
          : `It is not a text file (${formatBytes(size)}). Download it instead.`}
      </p>
      <a className="button" href={api.fileUrl(path)} download={nameOf(path)}>
        <Download size={14} />
        Download
      </a>
    </div>
  );
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
