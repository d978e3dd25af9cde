import { useState, type ReactNode } from "react";
import type { GitFile } from "@berth/contract/git.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { useGitActions } from "../actions/git-actions.ts";
import { useActions } from "../actions/actions.ts";
import { revisionsTab, tabFor, type Tab } from "../state/tabs/tab.ts";
import { letterOf, type GitMark } from "../state/git/git-marks.ts";
import { nameOf, parentOf } from "../text/paths.ts";

export interface FileAction {
  label: string;
  icon: ReactNode;
  run: (files: GitFile[]) => void;
}

export interface FileGroupProps {
  title: string;
  side: "staged" | "unstaged" | "conflict";
  files: GitFile[];
  // For each file and for all of them.
  actions: FileAction[];
}

const SHOWN_AT_FIRST = 200;

// Files in the same state. Nothing is shown if there are none.
export function FileGroup({ title, side, files, actions }: FileGroupProps) {
  const [limit, setLimit] = useState(SHOWN_AT_FIRST);
  if (files.length === 0) return null;
  return (
    <section className="git-group" aria-label={title}>
      <h3>
        {title}
        <span className="count">{files.length}</span>
        <span className="grow" />
        {actions.map(({ label, icon, run }) => (
          <IconButton key={label} label={`${label} all`} onClick={() => run(files)}>
            {icon}
          </IconButton>
        ))}
      </h3>
      {files.slice(0, limit).map((file) => (
        <FileRow key={file.path} file={file} side={side} actions={actions} />
      ))}
      {files.length > limit && (
        <p className="tree-note">
          <button type="button" onClick={() => setLimit(limit + 1000)}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
}

function FileRow({ file, side, actions }: { file: GitFile } & Pick<FileGroupProps, "side" | "actions">) {
  const { openFile, showTab } = useActions();
  const { openConflict } = useGitActions();
  const { path } = file;
  const mark: GitMark = side === "conflict" ? "conflict" : (file[side] ?? "modified");
  const show = () => {
    const tab = tabOf(file, side);
    if (side === "conflict") void openConflict(path);
    else if (tab === null) openFile(path);
    else showTab(tab);
  };
  return (
    <div className="list-row git-row">
      <button type="button" className="list-row link grow" title={path} onClick={show}>
        <span className="name truncate">{nameOf(path)}</span>
        <span className="folder muted truncate">{file.from === undefined ? parentOf(path) : `from ${file.from}`}</span>
      </button>
      {actions.map(({ label, icon, run }) => (
        <IconButton key={label} label={`${label} ${path}`} className="on-hover" onClick={() => run([file])}>
          {icon}
        </IconButton>
      ))}
      <span className={`git-letter git-${mark}`} aria-label={mark} role="img">
        {letterOf(mark)}
      </span>
    </div>
  );
}

// The versions that a click compares. Null opens the file itself.
function tabOf({ path, from, staged, unstaged }: GitFile, side: FileGroupProps["side"]): Tab | null {
  const name = nameOf(path);
  if (side === "conflict" || (side === "unstaged" && unstaged === "untracked")) return null;
  if (side === "staged") {
    const before = staged === "added" ? null : { path: from ?? path, revision: "HEAD" };
    return revisionsTab(`${name} (staged)`, before, staged === "deleted" ? null : { path, revision: "index" });
  }
  return staged === null
    ? tabFor("diff", path)
    : revisionsTab(`${name} (not staged)`, { path, revision: "index" }, unstaged === "deleted" ? null : { path, revision: "disk" });
}
