import { ChevronsDownUp, FilePlus, FolderPlus, FolderUp, RefreshCw, Upload } from "lucide-react";
import { useEffect, useState, type DragEvent } from "react";
import { lazyPart } from "../browser/lazy-part.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { usePage, usePageState, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { FileTree } from "./file-tree.tsx";
import { chooseUpload, isFileDrag, uploadDropped } from "./uploads.ts";

const Menu = lazyPart(async () => ({ default: (await import("../parts/menu.tsx")).Menu }));

export function Explorer() {
  const { layout } = usePage();
  const { files } = useSandbox();
  const { mayEdit } = useSession();
  const { startNew } = useActions();
  const isKnown = useSandboxState("files", (state) => state.folders[""] !== undefined);
  const isEmpty = useSandboxState("files", (state) => state.folders[""]?.length === 0);
  const isNaming = usePageState("tree", (state) => state.naming !== null);

  useEffect(() => {
    for (const folder of ["", ...layout.store.getState().expanded]) void files.ensure(folder);
  }, [files, layout]);

  return (
    <>
      <div className="panel-head">
        <h2>Files</h2>
        {mayEdit && (
          <>
            <IconButton label="New file" onClick={() => void startNew("file")}>
              <FilePlus size={15} />
            </IconButton>
            <IconButton label="New folder" onClick={() => void startNew("folder")}>
              <FolderPlus size={15} />
            </IconButton>
            <UploadButton />
          </>
        )}
        <IconButton label="Refresh" onClick={() => void files.reloadAll()}>
          <RefreshCw size={14} />
        </IconButton>
        <IconButton label="Collapse all folders" onClick={() => layout.set({ expanded: [] })}>
          <ChevronsDownUp size={15} />
        </IconButton>
      </div>
      <div className="panel-body explorer">
        {isEmpty && !isNaming && mayEdit ? <EmptyWorkspace /> : isKnown && <FileTree />}
        <TreeNotes />
      </div>
    </>
  );
}

function UploadButton() {
  const deps = { ...usePage(), ...useSandbox() };
  const { targetFolder } = useActions();
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const choose = (kind: "files" | "folder") => chooseUpload(deps, kind, targetFolder());
  return (
    <>
      <IconButton label="Upload" aria-haspopup="menu" onClick={(event) => setMenuAt({ x: event.clientX, y: event.clientY })}>
        <Upload size={15} />
      </IconButton>
      {menuAt && (
        <Menu
          label="Upload"
          at={menuAt}
          onClose={() => setMenuAt(null)}
          items={[
            { label: "Upload files", icon: <Upload size={14} />, run: () => choose("files") },
            { label: "Upload a folder", icon: <FolderUp size={14} />, run: () => choose("folder") },
          ]}
        />
      )}
    </>
  );
}

// Names that the tree hides.
function TreeNotes() {
  const { files } = useSandbox();
  const expanded = usePageState("layout", (state) => state.expanded);
  const failed = useSandboxState("files", ({ errors }) => ["", ...expanded].find((folder) => errors[folder] !== undefined));
  const error = useSandboxState("files", ({ errors }) => (failed === undefined ? null : errors[failed]));
  const isTruncated = useSandboxState("files", ({ truncated }) => ["", ...expanded].some((folder) => truncated[folder]));
  return (
    <>
      {error && (
        <p className="tree-note" role="alert">
          Could not load {failed === "" ? "files" : failed}: {error}.{" "}
          <button type="button" onClick={() => void files.reload(failed ?? "")}>
            Try again
          </button>
        </p>
      )}
      {isTruncated && <p className="tree-note">Some folders have more files than shown here. Search covers all of them.</p>}
    </>
  );
}

function EmptyWorkspace() {
  const deps = { ...usePage(), ...useSandbox() };
  const { startNew } = useActions();
  const [dropping, setDropping] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (!isFileDrag(event.dataTransfer)) return;
    event.preventDefault();
    setDropping(true);
  };
  const onDrop = (event: DragEvent) => {
    setDropping(false);
    if (!isFileDrag(event.dataTransfer)) return;
    event.preventDefault();
    uploadDropped(deps, event.dataTransfer, "");
  };
  return (
    <div className={dropping ? "empty dropping" : "empty"} onDragOver={onDragOver} onDragLeave={() => setDropping(false)} onDrop={onDrop}>
      <FilePlus size={28} strokeWidth={1.4} />
      <p>No files yet. Create one, drop files here, or clone a repository.</p>
      <div className="row">
        <button type="button" className="button" onClick={() => void startNew("file", "")}>
          New file
        </button>
        <button type="button" className="button" onClick={() => chooseUpload(deps, "files", "")}>
          Upload
        </button>
      </div>
    </div>
  );
}
