import "../styles/editor/welcome.css";
import { FilePlus, FolderGit2, Search, Upload } from "lucide-react";
import { useEffect } from "react";
import { markFirstText } from "../browser/first-text.ts";
import { formatShortcut } from "../browser/shortcuts.ts";
import { chooseUpload } from "../files/uploads.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { cloneRepository } from "../actions/clone-action.ts";
import { usePage, usePageState, useSandbox, useSandboxState, useSession, useSessionState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { nameOf, parentOf } from "../text/paths.ts";

// Shown when no file is open.
export default function Welcome() {
  useEffect(markFirstText, []);
  const deps = { ...usePage(), ...useSandbox() };
  const { mayEdit } = useSession();
  const { startNew } = useActions();
  const source = useSessionState((state) => state.session?.source ?? null);
  const isSettingUp = useSessionState((state) => state.session?.isSettingUp ?? false);
  const settled = mayEdit ? "Your workspace is ready" : "You are viewing this workspace";
  const ready = isSettingUp ? "Setting up your workspace…" : settled;
  return (
    <div className="welcome">
      <h2>{TITLES[source?.status ?? "ready"] ?? ready}</h2>
      {source?.status === "failed" && <NotFetched reason={source.reason} />}
      {isSettingUp && (source?.status ?? "ready") === "ready" && (
        <p className="reason">The Setup terminal shows the progress.{mayEdit && " You can work in the meantime."}</p>
      )}
      <div className="starts">
        {mayEdit && (
          <>
            <button type="button" className="button" onClick={() => void startNew("file")}>
              <FilePlus size={15} />
              New file
            </button>
            <button type="button" className="button" onClick={() => chooseUpload(deps, "files", "")}>
              <Upload size={15} />
              Upload files
            </button>
            <button type="button" className="button" onClick={() => void cloneRepository(deps)}>
              <FolderGit2 size={15} />
              Clone repository
            </button>
          </>
        )}
        <button type="button" className="button" onClick={() => deps.palette.open("files")}>
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
  const { notices } = usePage();
  const { api } = useSandbox();
  const { mayEdit } = useSession();
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
  const { openFile } = useActions();
  const recent = usePageState("layout", (state) => state.recentFiles);
  // Leaves out the files that are known to be gone.
  const folders = useSandboxState("files", (state) => state.folders);
  const existing = recent.filter((path) => folders[parentOf(path)]?.some(({ name }) => name === nameOf(path)) ?? true);
  if (existing.length === 0) return null;
  return (
    <section aria-label="Recent files" className="recent">
      <h3>Recent</h3>
      <ul>
        {existing.slice(0, MAX_RECENT).map((path) => (
          <li key={path}>
            <button type="button" className="link" onClick={() => openFile(path)}>
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
