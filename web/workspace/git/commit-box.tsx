import { Check, ChevronDown } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import type { GitRepository } from "@berth/contract/git.ts";
import { formatShortcut } from "../browser/shortcuts.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { Menu } from "../parts/menu.tsx";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { commitChanges } from "../state/actions/git-actions.ts";

export function CommitBox({ repository }: { repository: GitRepository }) {
  const workspace = useWorkspace();
  const { git } = workspace;
  const message = useWorkspaceState("git", (state) => state.message);
  const running = useWorkspaceState("git", (state) => state.running !== null);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void commitChanges(workspace);
  };
  const shortcut = formatShortcut("Mod+Enter");
  const where = repository.branch === null ? "" : ` on ${repository.branch}`;
  return (
    <div className="commit-box">
      <textarea
        className="field"
        aria-label="Commit message"
        placeholder={`Message (${shortcut} commits${where})`}
        rows={Math.min(8, Math.max(2, message.split("\n").length))}
        value={message}
        onChange={(event) => git.setMessage(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        <button type="button" className="button primary grow" disabled={running} onClick={() => void commitChanges(workspace)}>
          <Check size={14} />
          Commit
        </button>
        {repository.commit !== null && (
          <IconButton
            label="More ways to commit"
            className="bordered"
            disabled={running}
            onClick={({ currentTarget }) => {
              const { right, bottom } = currentTarget.getBoundingClientRect();
              setMenuAt({ x: right - 180, y: bottom + 4 });
            }}
          >
            <ChevronDown size={14} />
          </IconButton>
        )}
      </div>
      {menuAt && (
        <Menu
          label="Commit"
          at={menuAt}
          items={[{ label: "Amend the last commit", run: () => void commitChanges(workspace, { amend: true }) }]}
          onClose={() => setMenuAt(null)}
        />
      )}
    </div>
  );
}
