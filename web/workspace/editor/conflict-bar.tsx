import "../styles/editor/conflict-bar.css";
import { CircleAlert, TriangleAlert } from "lucide-react";
import { usePage, usePageState } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";
import { tabFor } from "../state/tabs/tab.ts";
import type { TextDocument } from "../state/documents/document.ts";

// Shows a conflict with the file on disk or a failed save, with the possible actions.
export default function ConflictBar({ doc }: { doc: TextDocument }) {
  if (doc.conflict?.kind === "changed") return <ChangedOnDisk path={doc.path} />;
  if (doc.conflict?.kind === "deleted") return <DeletedOnDisk path={doc.path} />;
  if (doc.failure !== null) return <NotSaved path={doc.path} reason={doc.failure} />;
  return null;
}

export function ChangedOnDisk({ path, comparing = false }: { path: string; comparing?: boolean }) {
  const { documents, layout } = usePage();
  const closeComparison = () => layout.dropTab(`compare:${path}`);
  const keepMine = async () => {
    await documents.keepMine(path);
    closeComparison();
  };
  return (
    <div className="bar" role="alert">
      <TriangleAlert size={16} />
      <p>{nameOf(path)} was changed by someone else while you were editing it. Choose which version to keep.</p>
      {!comparing && (
        <button type="button" className="button small" onClick={() => layout.openTab(tabFor("compare", path))}>
          Compare
        </button>
      )}
      <button type="button" className="button small" onClick={() => void keepMine()}>
        Keep mine
      </button>
      <button
        type="button"
        className="button small"
        onClick={() => {
          documents.takeTheirs(path);
          closeComparison();
        }}
      >
        Take theirs
      </button>
    </div>
  );
}

function DeletedOnDisk({ path }: { path: string }) {
  const page = usePage();
  return (
    <div className="bar" role="alert">
      <TriangleAlert size={16} />
      <p>{nameOf(path)} was deleted on disk. You can still save the text you have open.</p>
      <button type="button" className="button small" onClick={() => void page.documents.save(path)}>
        Save again
      </button>
      <button
        type="button"
        className="button small"
        onClick={() => {
          page.layout.dropTab(`file:${path}`);
          page.documents.close(path);
        }}
      >
        Close
      </button>
    </div>
  );
}

function NotSaved({ path, reason }: { path: string; reason: string }) {
  const { documents } = usePage();
  const autosave = usePageState("preferences", (state) => state.autosave);
  return (
    <div className="bar bad" role="alert">
      <CircleAlert size={16} />
      <p>
        Not saved: {reason}. Your text is kept in this browser.{autosave && " Autosave will try again."}
      </p>
      <button type="button" className="button small" onClick={() => void documents.save(path)}>
        {autosave ? "Try now" : "Try again"}
      </button>
    </div>
  );
}
