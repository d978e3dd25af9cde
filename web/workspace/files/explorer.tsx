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
  const fault = useWorkspaceState("files", (state) => state.faults[""]);

  useEffect(() => {
    for (const folder of ["", ...layout.store.getState().expanded]) void files.ensure(folder);
  }, [files, layout]);

  const onDrop = (event: DragEvent) => {
    setDropping(false);
    // What falls on the tree has been taken by the tree.
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
        <IconButton label="Read again" onClick={() => void files.reloadAll()}>
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
        {fault && !root && <p className="tree-note">The files cannot be read: {fault}</p>}
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
      <p>Nothing here yet. Create a file, drop some here, or clone a repository in the terminal.</p>
      <button type="button" className="button" onClick={() => void newFile(workspace, "")}>
        New file
      </button>
    </div>
  );
}
