import { CircleAlert, TriangleAlert } from "lucide-react";
import { useWorkspace } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";
import { tabFor } from "../state/page/layout.ts";
import type { Document } from "../state/documents/document.ts";

// Says what happened to an open file on disk, or why it could not be saved, and lets the person decide.
export function ConflictBar({ document }: { document: Document }) {
  if (document.conflict?.kind === "changed") return <Changed path={document.path} />;
  if (document.conflict?.kind === "deleted") return <Deleted path={document.path} />;
  if (document.failure !== null) return <NotSaved path={document.path} why={document.failure} />;
  return null;
}

export function Changed({ path, comparing = false }: { path: string; comparing?: boolean }) {
  const { documents, layout } = useWorkspace();
  const done = () => layout.closeTab(`compare:${path}`);
  const keep = async () => {
    await documents.keepMine(path);
    done();
  };
  return (
    <div className="bar" role="alert">
      <TriangleAlert size={16} />
      <p>{nameOf(path)} was changed by someone else while you were editing it. Nothing has been overwritten.</p>
      {!comparing && (
        <button type="button" className="button small" onClick={() => layout.openTab(tabFor("compare", path))}>
          Compare
        </button>
      )}
      <button type="button" className="button small" onClick={() => void keep()}>
        Keep mine
      </button>
      <button
        type="button"
        className="button small"
        onClick={() => {
          documents.takeTheirs(path);
          done();
        }}
      >
        Take theirs
      </button>
    </div>
  );
}

function Deleted({ path }: { path: string }) {
  const workspace = useWorkspace();
  return (
    <div className="bar" role="alert">
      <TriangleAlert size={16} />
      <p>{nameOf(path)} was deleted on disk. Its text is still here.</p>
      <button type="button" className="button small" onClick={() => void workspace.documents.save(path)}>
        Write it again
      </button>
      <button
        type="button"
        className="button small"
        onClick={() => {
          workspace.layout.closeTab(`file:${path}`);
          workspace.documents.close(path);
        }}
      >
        Close it
      </button>
    </div>
  );
}

function NotSaved({ path, why }: { path: string; why: string }) {
  const { documents } = useWorkspace();
  return (
    <div className="bar bad" role="alert">
      <CircleAlert size={16} />
      <p>Not saved: {why}. The text is kept in this browser.</p>
      <button type="button" className="button small" onClick={() => void documents.save(path)}>
        Try again
      </button>
    </div>
  );
}
