import { Check, Undo2 } from "lucide-react";
import { useMemo, useState } from "react";
import type { ReviewDecision } from "@berth/contract/agent.ts";
import { openFile } from "../../../state/actions/open-actions.ts";
import { useWorkspace } from "../../../state/context.ts";
import { tabFor } from "../../../state/tabs/tab.ts";
import { countLines, type Hunk, hunksOf } from "./line-diff.ts";
import { type FileDiff, rejectHunks } from "./reject-hunks.ts";

const MAX_LINES = 60;

export interface FileEditProps {
  diff: FileDiff;
  // Remembers the decision.
  onReview: (review: { path: string; hunks: number[]; decision: ReviewDecision }) => void;
  // The agent may still change a running edit.
  isDone: boolean;
}

// One file that the agent has changed. A person accepts or rejects the whole edit, or its hunks.
export function FileEdit({ diff, onReview, isDone }: FileEditProps) {
  const workspace = useWorkspace();
  const { path, oldText, newText, review = {} } = diff;
  const hunks = useMemo(() => hunksOf(oldText ?? "", newText), [oldText, newText]);
  const [working, setWorking] = useState(false);
  const { added, removed } = countLines(hunks);
  const undecided = hunks.flatMap((_hunk, index) => (review[index] === undefined ? index : []));

  const decide = async (decision: ReviewDecision, chosen: number[]) => {
    setWorking(true);
    const work = async () => decision === "rejected" && (await rejectHunks(workspace, diff, chosen));
    if (await workspace.notices.attempt(`Could not reject the change to ${path}`, work)) onReview({ path, hunks: chosen, decision });
    setWorking(false);
  };
  const canDecide = isDone && !working && workspace.mayEdit;

  return (
    <div className="edit" role="group" aria-label={`Edit of ${path}`}>
      <div className="edit-head">
        <button type="button" className="path truncate" onClick={() => openFile(workspace, path)} title={`Open ${path}`}>
          {path}
        </button>
        <span className="good">+{added}</span>
        <span className="bad">−{removed}</span>
        <button type="button" className="button small" onClick={() => workspace.layout.openTab(tabFor("diff", path))}>
          Compare
        </button>
      </div>
      {hunks.map((hunk, index) => (
        <div key={index} className="hunk" data-decision={review[index]}>
          <HunkLines hunk={hunk} label={`Changes to ${path}${hunks.length > 1 ? `, part ${index + 1} of ${hunks.length}` : ""}`} />
          {hunks.length > 1 && isDone && (
            <Decision
              what={`part ${index + 1}`}
              decision={review[index]}
              canDecide={canDecide}
              onDecide={(decision) => void decide(decision, [index])}
            />
          )}
        </div>
      ))}
      {isDone && (undecided.length > 0 || hunks.length === 1) && (
        <Decision
          what={hunks.length > 1 ? "all" : ""}
          decision={hunks.length === 1 ? review[0] : undefined}
          canDecide={canDecide}
          onDecide={(decision) => void decide(decision, undecided)}
        />
      )}
    </div>
  );
}

function HunkLines({ hunk: { lines }, label }: { hunk: Hunk; label: string }) {
  return (
    <pre tabIndex={0} aria-label={label}>
      {lines.slice(0, MAX_LINES).map(({ kind, text }, index) => (
        <div key={index} className={kind}>
          {{ added: "+", removed: "−", same: " " }[kind]} {text}
        </div>
      ))}
      {lines.length > MAX_LINES && <div className="gap">… {lines.length - MAX_LINES} more lines</div>}
    </pre>
  );
}

interface DecisionProps {
  what: string;
  decision: ReviewDecision | undefined;
  canDecide: boolean;
  onDecide: (decision: ReviewDecision) => void;
}

function Decision({ what, decision, canDecide, onDecide }: DecisionProps) {
  if (decision) return <p className={`decision ${decision}`}>{decision === "accepted" ? "Accepted" : "Rejected"}</p>;
  return (
    <div className="decision">
      <button type="button" className="button small" disabled={!canDecide} onClick={() => onDecide("accepted")}>
        <Check size={13} /> {`Accept ${what}`.trim()}
      </button>
      <button type="button" className="button small" disabled={!canDecide} onClick={() => onDecide("rejected")}>
        <Undo2 size={13} /> {`Reject ${what}`.trim()}
      </button>
    </div>
  );
}
