import "../styles/editor/conflict-bar.css";
import { CircleAlert, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
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
  const keepMine = () => void documents.keepMine(path).then(closeComparison);
  const takeTheirs = () => {
    documents.takeTheirs(path);
    closeComparison();
  };
  return (
    <Bar icon={TriangleAlert}>
      <p>{nameOf(path)} was changed by someone else while you were editing it. Choose which version to keep.</p>
      {!comparing && <Choice label="Compare" choose={() => layout.openTab(tabFor("compare", path))} />}
      <Choice label="Keep mine" choose={keepMine} />
      <Choice label="Take theirs" choose={takeTheirs} />
    </Bar>
  );
}

function DeletedOnDisk({ path }: { path: string }) {
  const { documents, layout } = usePage();
  const closeFile = () => {
    layout.dropTab(`file:${path}`);
    documents.close(path);
  };
  return (
    <Bar icon={TriangleAlert}>
      <p>{nameOf(path)} was deleted on disk. You can still save the text you have open.</p>
      <Choice label="Save again" choose={() => void documents.save(path)} />
      <Choice label="Close" choose={closeFile} />
    </Bar>
  );
}

function NotSaved({ path, reason }: { path: string; reason: string }) {
  const { documents } = usePage();
  const autosave = usePageState("preferences", (state) => state.autosave);
  return (
    <Bar icon={CircleAlert} className="bar bad">
      <p>
        Not saved: {reason}. Your text is kept in this browser.{autosave && " Autosave will try again."}
      </p>
      <Choice label={autosave ? "Try now" : "Try again"} choose={() => void documents.save(path)} />
    </Bar>
  );
}

const Bar = ({ icon: Icon, className = "bar", children }: { icon: LucideIcon; className?: string; children: ReactNode }) => (
  <div className={className} role="alert">
    <Icon size={16} />
    {children}
  </div>
);

const Choice = ({ label, choose }: { label: string; choose: () => void }) => (
  <button type="button" className="button small" onClick={choose}>
    {label}
  </button>
);
