import { useWorkspace } from "../state/context.ts";
import { formatShortcut } from "../browser/shortcuts.ts";
import { startNew } from "../state/file-actions.ts";

// Shown when no file is open.
export function Welcome() {
  const workspace = useWorkspace();
  return (
    <div className="empty">
      <h2>Your workspace is ready</h2>
      <p>Open a file on the left, or start with the terminal below.</p>
      <dl className="hints">
        {hints.map(([label, shortcut]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <kbd>{formatShortcut(shortcut)}</kbd>
            </dd>
          </div>
        ))}
      </dl>
      <div className="row">
        <button type="button" className="button" onClick={() => void startNew(workspace, "file")}>
          New file
        </button>
        <button type="button" className="button" onClick={() => workspace.palette.open("files")}>
          Go to file
        </button>
      </div>
    </div>
  );
}

const hints = [
  ["Go to file", "Mod+P"],
  ["All commands", "Mod+Shift+P"],
  ["Search in files", "Mod+Shift+F"],
  ["Toggle terminals", "Ctrl+`"],
] as const;
