import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useWorkspace } from "../state/context.ts";
import { createFile, createFolder, renamePath } from "../state/actions/file-actions.ts";
import type { Naming } from "../state/page/tree.ts";
import type { Workspace } from "../state/workspace.ts";
import { joinPath, nameError, parentOf } from "../text/paths.ts";

// The text field for a name in the tree. Enter accepts the name, and so does leaving the field; Escape does not.
export default function NameField({ naming, name }: { naming: Naming; name: string }) {
  const workspace = useWorkspace();
  const input = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  const [value, setValue] = useState(name);
  const [tried, setTried] = useState(false);
  const error = problemWith(workspace, naming, name, value);

  useEffect(() => {
    const field = input.current;
    field?.focus();
    // Typing replaces the name and keeps the extension.
    field?.setSelectionRange(0, name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length);
  }, [name]);

  const finish = () => {
    finished.current = true;
    workspace.tree.name(null);
  };
  const accept = () => {
    finish();
    if (value.trim() !== name) void apply(workspace, naming, value.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") finish();
    else if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    else if (error !== null) setTried(true);
    else accept();
    event.preventDefault();
  };
  const onBlur = () => {
    // Another window took the focus; the person will be back.
    if (finished.current || !document.hasFocus()) return;
    if (error === null) accept();
    else finish();
  };

  const shownError = tried || value.trim() !== "" ? error : null;
  return (
    <span className="name-field">
      <input
        ref={input}
        aria-label={labelOf(naming)}
        aria-invalid={shownError !== null}
        spellCheck={false}
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.target.value)}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
      />
      {shownError !== null && (
        <span className="fault" role="alert">
          {shownError}
        </span>
      )}
    </span>
  );
}

const labelOf = (naming: Naming) => (naming.kind === "rename" ? "New name" : `Name of the new ${naming.kind}`);

const folderOf = (naming: Naming) => (naming.kind === "rename" ? parentOf(naming.path) : naming.folder);

function problemWith({ files }: Workspace, naming: Naming, name: string, value: string): string | null {
  const typed = value.trim();
  if (typed !== name && typed !== "" && files.entryAt(joinPath(folderOf(naming), typed))) return `${typed} already exists`;
  return nameError(typed);
}

async function apply(workspace: Workspace, naming: Naming, name: string): Promise<void> {
  const path = joinPath(folderOf(naming), name);
  if (naming.kind === "rename") return renamePath(workspace, naming.path, path);
  return naming.kind === "file" ? createFile(workspace, path) : createFolder(workspace, path);
}
