import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { usePage, useSandbox } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { createFileActions } from "../actions/file-actions.ts";
import type { Naming } from "../state/page/tree.ts";
import type { Sandbox } from "../state/sandbox.ts";
import { joinPath, nameError, parentOf } from "../text/paths.ts";

// The text field for a name in the tree. Enter accepts the name, and so does leaving the field; Escape does not.
export default function NameField({ naming, name }: { naming: Naming; name: string }) {
  const deps = { ...usePage(), ...useSandbox(), ...useActions() };
  const { tree, files } = deps;
  const input = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  const [value, setValue] = useState(name);
  const [tried, setTried] = useState(false);
  const error = problemWith(files, naming, name, value);

  useEffect(() => {
    const field = input.current;
    field?.focus();
    // Typing replaces the name and keeps the extension.
    field?.setSelectionRange(0, name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length);
  }, [name]);

  const finish = () => {
    finished.current = true;
    tree.name(null);
  };
  const accept = () => {
    finish();
    const path = joinPath(folderOf(naming), value.trim());
    if (value.trim() === name) return;
    const { createFile, createFolder, renamePath } = createFileActions(deps);
    void (naming.kind === "rename" ? renamePath(naming.path, path) : naming.kind === "file" ? createFile(path) : createFolder(path));
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

function problemWith(files: Sandbox["files"], naming: Naming, name: string, value: string): string | null {
  const typed = value.trim();
  if (typed !== name && typed !== "" && files.entryAt(joinPath(folderOf(naming), typed))) return `${typed} already exists`;
  return nameError(typed);
}
