import { FileX } from "lucide-react";
import { usePage, usePageState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { lazyPart } from "../browser/lazy-part.ts";
import { nameOf } from "../text/paths.ts";
import { textViewOf } from "../viewers/text-view.ts";
import type { TextEditorProps } from "./text-editor.tsx";

const Loading = () => (
  <div className="loading-center" aria-busy="true">
    <div className="spinner" />
  </div>
);

const TextEditor = lazyPart(() => import("./text-editor.tsx"), <Loading />);
const TextOrView = lazyPart(() => import("../viewers/text-or-view.tsx"), <Loading />);
const Viewer = lazyPart(() => import("../viewers/viewer.tsx"), <Loading />);
export const ConflictBar = lazyPart(() => import("./conflict-bar.tsx"));

export function FileView({ path, group, active }: TextEditorProps) {
  const file = usePageState("documents", (state) => state.files[path]);
  if (file === undefined || file.kind === "loading") return <Loading />;
  if (file.kind === "failed") return <Failed path={path} group={group} message={file.message} gone={file.gone} />;
  if (file.kind !== "text") return <Viewer path={path} file={file} />;
  const view = textViewOf(path);
  const editor = <TextEditor key={path} path={path} group={group} active={active} />;
  return (
    <>
      {(file.document.conflict || file.document.failure !== null) && <ConflictBar doc={file.document} />}
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

function Failed({ path, group, message, gone }: { path: string; group: string; message: string; gone: boolean }) {
  const { documents } = usePage();
  const { closeTab } = useActions();
  return (
    <div className="empty">
      <FileX size={32} strokeWidth={1.4} />
      <h2>{gone ? `${nameOf(path)} no longer exists` : `Could not open ${nameOf(path)}`}</h2>
      <p>{gone ? "It was deleted, moved or renamed." : message}</p>
      <div className="row">
        <button type="button" className="button" onClick={() => void documents.open(path)}>
          Try again
        </button>
        <button type="button" className="button" onClick={() => void closeTab(group, `file:${path}`)}>
          Close
        </button>
      </div>
    </div>
  );
}
