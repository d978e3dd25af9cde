import { useWorkspace } from "../state/context.ts";
import { isMac, showKeys } from "../browser/shortcuts.ts";
import { newFile } from "../state/actions.ts";

const hints = [
  ["Go to a file", "Mod+P"],
  ["All commands", "Mod+Shift+P"],
  ["Search in files", "Mod+Shift+F"],
  ["Show or hide terminals", "Ctrl+`"],
] as const;

// What is seen when no file is open: the few keys worth knowing.
export function Welcome() {
  const workspace = useWorkspace();
  return (
    <div className="empty">
      <h2>Your workspace is ready</h2>
      <p>Open a file on the left, or start with the terminal below.</p>
      <dl className="hints">
        {hints.map(([what, keys]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <kbd>{showKeys(keys, isMac())}</kbd>
            </dd>
          </div>
        ))}
      </dl>
      <div className="row">
        <button type="button" className="button" onClick={() => void newFile(workspace, "")}>
          New file
        </button>
        <button type="button" className="button" onClick={() => workspace.palette.open("files")}>
          Go to file
        </button>
      </div>
    </div>
  );
}
