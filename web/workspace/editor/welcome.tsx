import "../styles/editor/welcome.css";
import { FilePlus, FolderGit2, Search, Upload } from "lucide-react";
import { formatShortcut } from "../browser/shortcuts.ts";
import { chooseUpload } from "../files/uploads.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { openFile } from "../state/actions/open-actions.ts";
import { cloneRepository } from "../state/actions/clone-action.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { startNew } from "../state/actions/file-actions.ts";
import { nameOf, parentOf } from "../text/paths.ts";

// Shown when no file is open.
export default function Welcome() {
  const workspace = useWorkspace();
  const source = useWorkspaceState("session", (state) => state.session?.source ?? null);
  const ready = workspace.mayEdit ? "Your workspace is ready" : "You are viewing this workspace";
  return (
    <div className="welcome">
      <h2>{TITLES[source?.status ?? "ready"] ?? ready}</h2>
      {source?.status === "failed" && <NotFetched reason={source.reason} />}
      <div className="starts">
        {workspace.mayEdit && (
          <>
            <button type="button" className="button" onClick={() => void startNew(workspace, "file")}>
              <FilePlus size={15} />
              New file
            </button>
            <button type="button" className="button" onClick={() => chooseUpload(workspace, "files", "")}>
              <Upload size={15} />
              Upload files
            </button>
            <button type="button" className="button" onClick={() => void cloneRepository(workspace)}>
              <FolderGit2 size={15} />
              Clone repository
            </button>
          </>
        )}
        <button type="button" className="button" onClick={() => workspace.palette.open("files")}>
          <Search size={15} />
          Go to file
        </button>
      </div>
      <RecentFiles />
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
    </div>
  );
}

const TITLES: Record<string, string> = {
  pending: "Fetching the repository…",
  failed: "The repository could not be fetched",
};

function NotFetched({ reason }: { reason: string | null }) {
  const { mayEdit, notices, api } = useWorkspace();
  const retry = () => void notices.attempt("The repository was not fetched again", api.retrySource);
  return (
    <>
      {reason !== null && <p className="reason">{reason}</p>}
      {mayEdit && (
        <button type="button" className="button primary" onClick={retry}>
          Retry
        </button>
      )}
    </>
  );
}

const hints = [
  ["All commands", "Mod+Shift+P"],
  ["Search in files", "Mod+Shift+F"],
  ["Toggle terminals", "Ctrl+`"],
] as const;

const MAX_RECENT = 6;

function RecentFiles() {
  const workspace = useWorkspace();
  const recent = useWorkspaceState("layout", (state) => state.recentFiles);
  // Leaves out the files that are known to be gone.
  const folders = useWorkspaceState("files", (state) => state.folders);
  const existing = recent.filter((path) => folders[parentOf(path)]?.some(({ name }) => name === nameOf(path)) ?? true);
  if (existing.length === 0) return null;
  return (
    <section aria-label="Recent files" className="recent">
      <h3>Recent</h3>
      <ul>
        {existing.slice(0, MAX_RECENT).map((path) => (
          <li key={path}>
            <button type="button" className="link" onClick={() => openFile(workspace, path)}>
              <FileIcon path={path} />
              <span className="truncate">{nameOf(path)}</span>
              <span className="muted truncate">{parentOf(path)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
