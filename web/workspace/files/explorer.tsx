import { ChevronsDownUp, FilePlus, FolderPlus, RefreshCw } from "lucide-react";
import { useEffect, useState, type DragEvent } from "react";
import { IconButton } from "../parts/icon-button.tsx";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { startNew } from "../state/file-actions.ts";
import { FileTree } from "./file-tree.tsx";
import { isFileDrag, uploadDropped } from "./upload.ts";

export function Explorer() {
  const workspace = useWorkspace();
  const { files, layout } = workspace;
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
        <IconButton label="New file" onClick={() => void startNew(workspace, "file")}>
          <FilePlus size={15} />
        </IconButton>
        <IconButton label="New folder" onClick={() => void startNew(workspace, "folder")}>
          <FolderPlus size={15} />
        </IconButton>
        <IconButton label="Refresh" onClick={() => void files.reloadAll()}>
          <RefreshCw size={14} />
        </IconButton>
        <IconButton label="Collapse all folders" onClick={() => layout.set({ expanded: [] })}>
          <ChevronsDownUp size={15} />
        </IconButton>
      </div>
      <div className="panel-body explorer">
        {isEmpty && !isNaming ? <EmptyWorkspace /> : isKnown && <FileTree />}
        <TreeNotes />
      </div>
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
    void uploadDropped(workspace, event.dataTransfer, "");
  };
  return (
    <div className={dropping ? "empty dropping" : "empty"} onDragOver={onDragOver} onDragLeave={() => setDropping(false)} onDrop={onDrop}>
      <FilePlus size={28} strokeWidth={1.4} />
      <p>No files yet. Create one, drop files here, or clone a repository in the terminal.</p>
      <button type="button" className="button" onClick={() => void startNew(workspace, "file", "")}>
        New file
      </button>
    </div>
  );
}
