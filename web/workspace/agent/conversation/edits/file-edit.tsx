import { Check, ChevronRight, Undo2 } from "lucide-react";
import { useState } from "react";
import type { ChangeHunk, FileChange, ReviewDecision } from "@berth/contract/agent.ts";
import { usePage } from "../../../state/context.ts";
import { useActions } from "../../../actions/actions.ts";
import { tabFor } from "../../../state/tabs/tab.ts";
import { HunkLines } from "./hunk-lines.tsx";

export type Decide = (review: { path: string; hunks?: number[]; decision: ReviewDecision | "undecided" }) => void;

export interface FileEditProps {
  file: FileChange;
  // null while the agent may still change the file, and for people who only read.
  onDecide: Decide | null;
  startsOpen: boolean;
}

// One file that changed during a turn. A person accepts or rejects the whole change, or its hunks.
export function FileEdit({ file, onDecide, startsOpen }: FileEditProps) {
  const { layout } = usePage();
  const { openFile } = useActions();
  const { path, kind, linesAdded, linesRemoved } = file;
  const [isOpen, setOpen] = useState(startsOpen);

  return (
    <div className="edit" role="group" aria-label={`Edit of ${path}`}>
      <div className="edit-head">
        <button
          type="button"
          className="edit-toggle"
          aria-expanded={isOpen}
          aria-label={isOpen ? `Hide the changes to ${path}` : `Show the changes to ${path}`}
          onClick={() => setOpen(!isOpen)}
        >
          <ChevronRight size={13} className="chevron" />
        </button>
        <span className={`edit-kind ${kind}`} title={kindNames[kind]}>
          {kindLetters[kind]}
        </span>
        <button type="button" className="path truncate" onClick={() => openFile(path)} title={`Open ${path}`}>
          {path}
        </button>
        {linesAdded !== undefined && <span className="good">+{linesAdded}</span>}
        {linesRemoved !== undefined && <span className="bad">−{linesRemoved}</span>}
        <button type="button" className="button small" onClick={() => layout.openTab(tabFor("diff", path))}>
          Compare
        </button>
      </div>
      {isOpen && <Parts file={file} onDecide={onDecide} />}
    </div>
  );
}

function Parts({ file: { path, hunks, note, saved }, onDecide }: Pick<FileEditProps, "file" | "onDecide">) {
  const undecided = hunks.filter(({ decision }) => decision === undefined);
  const isWhole = hunks.length === 1;
  return (
    <>
      {note && <p className="edit-note">{note}</p>}
      {saved && <p className="edit-note">Also saved in the workspace during the turn: a part of this change may not be the agent’s.</p>}
      {hunks.map((hunk, index) => (
        <div key={index} className="hunk" data-decision={hunk.decision}>
          {hasLines(hunk) && (
            <HunkLines hunk={hunk} label={`Changes to ${path}${isWhole ? "" : `, part ${index + 1} of ${hunks.length}`}`} />
          )}
          {onDecide && (
            <Decision
              what={isWhole ? "" : `part ${index + 1}`}
              decision={hunk.decision}
              onDecide={(decision) => onDecide({ path, hunks: [index], decision })}
            />
          )}
        </div>
      ))}
      {onDecide && undecided.length > 1 && (
        <Decision what="all" decision={undefined} onDecide={(decision) => onDecide({ path, decision })} />
      )}
    </>
  );
}

const kindLetters = { added: "A", modified: "M", deleted: "D" } as const;
const kindNames = { added: "New file", modified: "Changed", deleted: "Deleted" } as const;

const hasLines = ({ lines, hiddenLines }: ChangeHunk) => lines.length > 0 || hiddenLines !== undefined;

interface DecisionProps {
  what: string;
  decision: ReviewDecision | undefined;
  onDecide: (decision: ReviewDecision | "undecided") => void;
}

function Decision({ what, decision, onDecide }: DecisionProps) {
  if (decision) {
    return (
      <div className={`decision ${decision}`}>
        <span className="grow">{decision === "accepted" ? "Accepted" : "Rejected"}</span>
        <button type="button" className="button small" onClick={() => onDecide("undecided")}>
          {decision === "accepted" ? "Change" : "Undo"}
        </button>
      </div>
    );
  }
  return (
    <div className="decision">
      <button type="button" className="button small" onClick={() => onDecide("accepted")}>
        <Check size={13} /> {`Accept ${what}`.trim()}
      </button>
      <button type="button" className="button small" onClick={() => onDecide("rejected")}>
        <Undo2 size={13} /> {`Reject ${what}`.trim()}
      </button>
    </div>
  );
}
