import { ChevronsDownUp, FilePlus, FolderPlus, FolderUp, RefreshCw, Upload } from "lucide-react";
import { useEffect, useState, type DragEvent } from "react";
import { lazyPart } from "../browser/lazy-part.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { startNew, targetFolder } from "../state/actions/file-actions.ts";
import { FileTree } from "./file-tree.tsx";
import { chooseUpload, isFileDrag, uploadDropped } from "./uploads.ts";

const Menu = lazyPart(async () => ({ default: (await import("../parts/menu.tsx")).Menu }));

export function Explorer() {
  const workspace = useWorkspace();
  const { mayEdit, files, layout } = workspace;
  const isKnown = useWorkspaceState("files", (state) => state.folders[""] !== undefined);
  const isEmpty = useWorkspaceState("files", (state) => state.folders[""]?.length === 0);
  const isNaming = useWorkspaceState("tree", (state) => state.naming !== null);

  useEffect(() => {
    for (const folder of ["", ...layout.store.getState().expanded]) void files.ensure(folder);
  }, [files, layout]);

  return (
    <>
      <div className="panel-head">
        <h2>Files</h2>
        {mayEdit && (
          <>
            <IconButton label="New file" onClick={() => void startNew(workspace, "file")}>
              <FilePlus size={15} />
            </IconButton>
            <IconButton label="New folder" onClick={() => void startNew(workspace, "folder")}>
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
  const workspace = useWorkspace();
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const choose = (kind: "files" | "folder") => chooseUpload(workspace, kind, targetFolder(workspace));
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
  const { files } = useWorkspace();
  const expanded = useWorkspaceState("layout", (state) => state.expanded);
  const failed = useWorkspaceState("files", ({ errors }) => ["", ...expanded].find((folder) => errors[folder] !== undefined));
  const error = useWorkspaceState("files", ({ errors }) => (failed === undefined ? null : errors[failed]));
  const isTruncated = useWorkspaceState("files", ({ truncated }) => ["", ...expanded].some((folder) => truncated[folder]));
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
  const workspace = useWorkspace();
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
    uploadDropped(workspace, event.dataTransfer, "");
  };
  return (
    <div className={dropping ? "empty dropping" : "empty"} onDragOver={onDragOver} onDragLeave={() => setDropping(false)} onDrop={onDrop}>
      <FilePlus size={28} strokeWidth={1.4} />
      <p>No files yet. Create one, drop files here, or clone a repository.</p>
      <div className="row">
        <button type="button" className="button" onClick={() => void startNew(workspace, "file", "")}>
          New file
        </button>
        <button type="button" className="button" onClick={() => chooseUpload(workspace, "files", "")}>
          Upload
        </button>
      </div>
    </div>
  );
}
