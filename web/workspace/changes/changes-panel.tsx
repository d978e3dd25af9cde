import { GitCompare, RefreshCw, Undo2 } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import type { Change, Changes } from "@berth/contract/agent.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { describeError } from "../state/page/notices.ts";
import { nameOf, parentOf } from "../text/paths.ts";
import { tabFor } from "../state/page/tab.ts";

export function ChangesPanel() {
  const { changes, error, read } = useChanges();
  return (
    <>
      <div className="panel-head">
        <h2>Changes</h2>
        <IconButton label="Refresh" onClick={read}>
          <RefreshCw size={14} />
        </IconButton>
      </div>
      {changes && changes.changes.length > 0 && <p className="search-summary">{`${count(changes)} since ${changes.baseName}`}</p>}
      <div className="panel-body">
        {error && <p className="tree-note">Could not load changes: {error}</p>}
        {changes?.changes.length === 0 && <Unchanged base={changes} />}
        {changes?.changes.map((change) => (
          <ChangeRow key={change.path} change={change} />
        ))}
      </div>
    </>
  );
}

const count = ({ changes, truncated }: Changes) =>
  `${changes.length}${truncated ? " or more" : ""} ${changes.length === 1 && !truncated ? "file" : "files"} changed`;

function useChanges() {
  const { api } = useWorkspace();
  const version = useWorkspaceState("files", (state) => state.version);
  const [changes, setChanges] = useState<Changes | null>(null);
  const [error, setError] = useState<string | null>(null);
  const read = useCallback(() => {
    api.json<Changes>("api/changes").then(
      (found) => {
        setChanges(found);
        setError(null);
      },
      (thrown: unknown) => setError(describeError(thrown)),
    );
  }, [api]);
  // Debounced, because files often change in bursts.
  useEffect(() => {
    const timer = setTimeout(read, version === 0 ? 0 : 400);
    return () => clearTimeout(timer);
  }, [read, version]);
  return { changes, error, read };
}

function ChangeRow({ change }: { change: Change }) {
  const { layout, dialogs, notices, api } = useWorkspace();
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
      <IconButton label={`Revert ${path}`} onClick={() => void revert()}>
        <Undo2 size={14} />
      </IconButton>
    </div>
  );
}

const Unchanged = ({ base }: { base: Changes }) => (
  <div className="empty">
    <GitCompare size={28} strokeWidth={1.4} />
    <p>{base.base === "none" ? "This workspace does not track changes." : `No changes since ${base.baseName}.`}</p>
  </div>
);
