import { Check, ChevronDown } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import type { GitRepository } from "@berth/contract/git.ts";
import { formatShortcut } from "../browser/shortcuts.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { Menu } from "../parts/menu.tsx";
import { useSandbox, useSandboxState } from "../state/context.ts";
import { useGitActions } from "../actions/git-actions.ts";

export function CommitBox({ repository }: { repository: GitRepository }) {
  const { git } = useSandbox();
  const { commitChanges } = useGitActions();
  const message = useSandboxState("git", (state) => state.message);
  const running = useSandboxState("git", (state) => state.running !== null);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void commitChanges();
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
        <button type="button" className="button primary grow" disabled={running} onClick={() => void commitChanges()}>
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
          items={[{ label: "Amend the last commit", run: () => void commitChanges({ amend: true }) }]}
          onClose={() => setMenuAt(null)}
        />
      )}
    </div>
  );
}
