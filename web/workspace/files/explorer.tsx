import { ChevronsDownUp, FilePlus, FolderPlus, RefreshCw } from "lucide-react";
import { useEffect, useState, type DragEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { newFile, newFolder } from "../state/actions.ts";
import { FileTree } from "./file-tree.tsx";
import { isFileDrag, uploadDropped } from "./upload.ts";

export function Explorer() {
  const workspace = useWorkspace();
  const { files, layout } = workspace;
  const [dropping, setDropping] = useState(false);
  const root = useWorkspaceState("files", (state) => state.folders[""]);
  const error = useWorkspaceState("files", (state) => state.errors[""]);

  useEffect(() => {
    for (const folder of ["", ...layout.store.getState().expanded]) void files.ensure(folder);
  }, [files, layout]);

  const onDrop = (event: DragEvent) => {
    setDropping(false);
    // The tree handles what is dropped on it.
    if (event.defaultPrevented || !isFileDrag(event.dataTransfer)) return;
    event.preventDefault();
    void uploadDropped(workspace, event.dataTransfer, "");
  };

  return (
    <>
      <div className="panel-head">
        <h2>Files</h2>
        <IconButton label="New file" onClick={() => void newFile(workspace, "")}>
          <FilePlus size={15} />
        </IconButton>
        <IconButton label="New folder" onClick={() => void newFolder(workspace, "")}>
          <FolderPlus size={15} />
        </IconButton>
        <IconButton label="Refresh" onClick={() => void files.reloadAll()}>
          <RefreshCw size={14} />
        </IconButton>
        <IconButton label="Collapse all folders" onClick={() => layout.set({ expanded: [] })}>
          <ChevronsDownUp size={15} />
        </IconButton>
      </div>
      <div
        className={dropping ? "panel-body dropping" : "panel-body"}
        onDragOver={(event) => {
          if (!isFileDrag(event.dataTransfer)) return;
          event.preventDefault();
          setDropping(true);
        }}
        onDragLeave={() => setDropping(false)}
        onDrop={onDrop}
      >
        {error && !root && <p className="tree-note">Could not load files: {error}</p>}
        {root?.length === 0 ? <EmptyWorkspace /> : root && <FileTree />}
      </div>
    </>
  );
}

function EmptyWorkspace() {
  const workspace = useWorkspace();
  return (
    <div className="empty">
      <FilePlus size={28} strokeWidth={1.4} />
      <p>No files yet. Create one, drop files here, or clone a repository in the terminal.</p>
      <button type="button" className="button" onClick={() => void newFile(workspace, "")}>
        New file
      </button>
    </div>
  );
}
