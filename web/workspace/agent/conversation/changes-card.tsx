import { Check, ChevronRight, FileDiff, Undo2 } from "lucide-react";
import type { ChangesItem, ReviewDecision } from "@berth/contract/agent.ts";
import { usePage, useSession } from "../../state/context.ts";
import { useAgent } from "../../state/use-agent.ts";
import { type Decide, FileEdit } from "./edits/file-edit.tsx";

// A long list starts with the names only.
const MAX_OPEN = 8;

// The files that changed during a turn. People decide about them when the turn is over.
export function ChangesCard({ conversationId, item }: { conversationId: string; item: ChangesItem & { id: string } }) {
  const agent = useAgent();
  const { documents, notices } = usePage();
  const { mayEdit } = useSession();
  const { files, note, after } = item;
  if (files.length === 0 && note === undefined) return null;
  const canDecide = after !== null && mayEdit;
  const undecided = files.filter(({ hunks }) => hunks.some(({ decision }) => decision === undefined));
  const decide: Decide = (review) => {
    // The daemon does not know what is unsaved in this browser, and the next save would undo the decision.
    if (review.decision !== "accepted" && documents.documentAt(review.path)?.edited)
      notices.info(`${review.path} has unsaved changes. Save it first.`);
    else agent.review(conversationId, item.id, review);
  };
  const decideAll = (decision: ReviewDecision) => undecided.forEach(({ path }) => decide({ path, decision }));
  const sum = (key: "linesAdded" | "linesRemoved") => files.reduce((total, file) => total + (file[key] ?? 0), 0);
  return (
    <details className="tool changes" open>
      <summary>
        <ChevronRight size={13} className="chevron" />
        <FileDiff size={14} />
        <span className="grow truncate">
          {files.length === 1 ? "1 file changed" : `${files.length} files changed`}
          {after === null && files.length > 0 ? " so far" : ""}
        </span>
        <span className="good">+{sum("linesAdded")}</span>
        <span className="bad">−{sum("linesRemoved")}</span>
      </summary>
      <div className="tool-body">
        {note && <p className="changes-note">{note}</p>}
        {files.map((file) => (
          <FileEdit key={file.path} file={file} startsOpen={files.length <= MAX_OPEN} onDecide={canDecide ? decide : null} />
        ))}
        {canDecide && undecided.length > 1 && (
          <div className="row">
            <button type="button" className="button small" onClick={() => decideAll("accepted")}>
              <Check size={13} /> Accept all files
            </button>
            {/* A file that a person has saved too is rejected by itself, or not at all. */}
            {!files.some(({ saved }) => saved) && (
              <button type="button" className="button small" onClick={() => decideAll("rejected")}>
                <Undo2 size={13} /> Reject all files
              </button>
            )}
          </div>
        )}
      </div>
    </details>
  );
}
