import { ArrowDownToLine, ArrowUpFromLine, CloudUpload, RefreshCw, Square } from "lucide-react";
import type { GitRepository } from "@berth/contract/git.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { useSandbox, useSandboxState } from "../state/context.ts";
import { useGitActions } from "../actions/git-actions.ts";

// Push, pull and fetch, or the operation in progress.
export function SyncButtons({ repository }: { repository: GitRepository }) {
  const { git } = useSandbox();
  const { pullBranch, pushBranch } = useGitActions();
  const running = useSandboxState("git", (state) => state.running);
  const { upstream, ahead, behind, commit, branch, remotes } = repository;
  if (running !== null)
    return (
      <div className="git-sync" role="status">
        <i className="spinner small" />
        <span className="truncate grow muted">
          {running.name}: {running.text === "" ? "in progress" : running.text}
        </span>
        <IconButton label={`Stop ${running.name.toLowerCase()}`} onClick={() => git.stopRunning()}>
          <Square size={12} />
        </IconButton>
      </div>
    );
  if (commit === null || branch === null) return null;
  if (upstream === null)
    return (
      <div className="git-sync">
        <button type="button" className="button grow" onClick={() => void pushBranch()}>
          <CloudUpload size={14} />
          Publish branch
        </button>
        {remotes.length > 0 && <Fetch />}
      </div>
    );
  return (
    <div className="git-sync">
      <button type="button" className="button grow" onClick={() => void pullBranch()}>
        <ArrowDownToLine size={14} />
        Pull{behind > 0 && ` ${behind}`}
      </button>
      <button type="button" className="button grow" onClick={() => void pushBranch()}>
        <ArrowUpFromLine size={14} />
        Push{ahead > 0 && ` ${ahead}`}
      </button>
      <Fetch />
    </div>
  );
}

function Fetch() {
  const { fetchRemote } = useGitActions();
  return (
    <IconButton label="Fetch" className="bordered" onClick={() => void fetchRemote()}>
      <RefreshCw size={14} />
    </IconButton>
  );
}
