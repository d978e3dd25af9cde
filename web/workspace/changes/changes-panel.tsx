import "../styles/panels.css";
import "../styles/source-control.css";
import { GitBranch, GitCompare, RefreshCw, Undo2 } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import type { Change, Changes } from "@berth/contract/changes.ts";
import { usePage, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { loadModule } from "../browser/load-module.ts";
import { useGitActions } from "../actions/git-actions.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { describeError } from "../state/page/notices.ts";
import { nameOf, parentOf } from "../text/paths.ts";
import { tabFor } from "../state/tabs/tab.ts";

const SourceControl = lazy(() => loadModule(() => import("../git/source-control.tsx")));

// The repository or, without one, the changes since the session's start.
export default function ChangesPanel() {
  const { git } = useSandbox();
  const repository = useSandboxState("git", (state) => state.repository);
  const known = useSandboxState("git", (state) => state.known);
  const error = useSandboxState("git", (state) => state.error);
  const [refreshed, setRefreshed] = useState(0);
  const refresh = () => {
    setRefreshed((count) => count + 1);
    void git.refresh();
  };
  return (
    <>
      <div className="panel-head">
        <h2>{repository ? "Source control" : "Changes"}</h2>
        <IconButton label="Refresh" onClick={refresh}>
          <RefreshCw size={14} />
        </IconButton>
      </div>
      {error && <p className="tree-note">Could not read the repository: {error}</p>}
      <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
        {repository ? <SourceControl repository={repository} /> : known && <SessionChanges key={refreshed} />}
      </Suspense>
    </>
  );
}

function SessionChanges() {
  const { mayEdit } = useSession();
  const { initializeRepository } = useGitActions();
  const { changes, error } = useChanges();
  return (
    <>
      {changes && changes.changes.length > 0 && <p className="search-summary">{`${count(changes)} since ${changes.baseName}`}</p>}
      <div className="panel-body">
        {error && <p className="tree-note">Could not load changes: {error}</p>}
        {changes?.changes.length === 0 && <Unchanged base={changes} />}
        {changes?.changes.map((change) => (
          <ChangeRow key={change.path} change={change} />
        ))}
        {mayEdit && (
          <div className="git-start">
            <button type="button" className="button" onClick={() => void initializeRepository()}>
              <GitBranch size={14} />
              Initialize repository
            </button>
          </div>
        )}
      </div>
    </>
  );
}

const count = ({ changes, truncated }: Changes) =>
  `${changes.length}${truncated ? " or more" : ""} ${changes.length === 1 && !truncated ? "file" : "files"} changed`;

function useChanges() {
  const { api } = useSandbox();
  const version = useSandboxState("files", (state) => state.version);
  const [changes, setChanges] = useState<Changes | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Debounced, because files often change in bursts.
  useEffect(() => {
    const read = () =>
      api.json<Changes>("api/changes").then(
        (found) => {
          setChanges(found);
          setError(null);
        },
        (thrown: unknown) => setError(describeError(thrown)),
      );
    const timer = setTimeout(() => void read(), version === 0 ? 0 : 400);
    return () => clearTimeout(timer);
  }, [api, version]);
  return { changes, error };
}

function ChangeRow({ change }: { change: Change }) {
  const { layout, dialogs, notices } = usePage();
  const { api } = useSandbox();
  const { mayEdit } = useSession();
  const { path, kind, linesAdded, linesDeleted } = change;
  const revert = async () => {
    const text =
      kind === "added" ? `${path} is a new file. This deletes it.` : `This restores the original ${path}. Your changes to it are lost.`;
    if (!(await dialogs.confirm(`Revert ${nameOf(path)}?`, text, "Revert"))) return;
    await notices.attempt(`Could not revert ${path}`, () => api.json("api/changes/revert", "POST", { path }));
  };
  return (
    <div className="list-row" style={{ minHeight: 28, paddingBlock: 0 }}>
      <button
        type="button"
        className="list-row link grow"
        style={{ padding: 0 }}
        title={path}
        onClick={() => layout.openTab(tabFor("diff", path))}
      >
        <span className={`change-kind ${kind}`} aria-label={kind}>
          {kind[0]?.toUpperCase()}
        </span>
        <span className="name truncate">{nameOf(path)}</span>
        <span className="folder muted truncate">{parentOf(path)}</span>
      </button>
      {linesAdded !== undefined && <span className="mono good">+{linesAdded}</span>}
      {linesDeleted !== undefined && <span className="mono bad">−{linesDeleted}</span>}
      {mayEdit && (
        <IconButton label={`Revert ${path}`} onClick={() => void revert()}>
          <Undo2 size={14} />
        </IconButton>
      )}
    </div>
  );
}

const Unchanged = ({ base }: { base: Changes }) => (
  <div className="empty">
    <GitCompare size={28} strokeWidth={1.4} />
    <p>{base.base === "none" ? "This workspace does not track changes." : `No changes since ${base.baseName}.`}</p>
  </div>
);
