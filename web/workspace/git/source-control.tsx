import { Minus, Plus, Undo2 } from "lucide-react";
import type { GitFile, GitRepository } from "@berth/contract/git.ts";
import { useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useGitActions } from "../actions/git-actions.ts";
import { CommitBox } from "./commit-box.tsx";
import { FileGroup } from "./file-group.tsx";
import { SyncButtons } from "./sync-buttons.tsx";

// The repository: staged files, changed files, and the next commit.
export default function SourceControl({ repository }: { repository: GitRepository }) {
  const { mayEdit } = useSession();
  const { abortOperation, continueOperation, discardFiles, stageFiles, unstageFiles } = useGitActions();
  const { files, truncated, operation } = repository;
  const conflicts = files.filter(({ conflict }) => conflict);
  const staged = files.filter((file) => file.staged !== null);
  const unstaged = files.filter((file) => file.unstaged !== null);
  const stage = { label: "Stage", icon: <Plus size={15} />, run: (chosen: GitFile[]) => void stageFiles(chosen) };
  const unstage = { label: "Unstage", icon: <Minus size={15} />, run: (chosen: GitFile[]) => void unstageFiles(chosen) };
  const discard = { label: "Discard", icon: <Undo2 size={14} />, run: (chosen: GitFile[]) => void discardFiles(chosen) };
  return (
    <>
      <Repositories />
      {operation !== null && mayEdit && (
        <div className="git-operation">
          <p>
            {conflicts.length > 0
              ? `Resolve the conflicts, then stage the files to finish the ${operation}.`
              : `A ${operation} is in progress.`}
          </p>
          <div className="row">
            {conflicts.length === 0 && (
              <button type="button" className="button primary" onClick={() => void continueOperation()}>
                Continue
              </button>
            )}
            <button type="button" className="button" onClick={() => void abortOperation()}>
              Abort {operation}
            </button>
          </div>
        </div>
      )}
      {mayEdit && (
        <>
          <CommitBox repository={repository} />
          <SyncButtons repository={repository} />
        </>
      )}
      <div className="panel-body">
        {files.length === 0 && <p className="tree-note">No changes since the last commit.</p>}
        <FileGroup title="Merge conflicts" side="conflict" files={conflicts} actions={mayEdit ? [stage] : []} />
        <FileGroup title="Staged" side="staged" files={staged} actions={mayEdit ? [unstage] : []} />
        <FileGroup title="Not staged" side="unstaged" files={unstaged} actions={mayEdit ? [discard, stage] : []} />
        {truncated && (
          <p className="tree-note">There are more changes than can be shown. Files that Git should not track belong in .gitignore.</p>
        )}
      </div>
    </>
  );
}

function Repositories() {
  const { git } = useSandbox();
  const all = useSandboxState("git", (state) => state.repositories);
  const shown = useSandboxState("git", (state) => state.repository?.path ?? "");
  if (all.length < 2) return null;
  return (
    <div className="git-repositories">
      <select className="field" aria-label="Repository" value={shown} onChange={(event) => void git.choose(event.target.value)}>
        {all.map((path) => (
          <option key={path}>{path}</option>
        ))}
      </select>
    </div>
  );
}
