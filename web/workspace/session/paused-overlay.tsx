import "../styles/session.css";
import { Pause } from "lucide-react";
import { useStore } from "zustand";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { usePage, usePageState, useSession, useSessionState } from "../state/context.ts";

// Covers the workbench while the session is paused.
export default function PausedOverlay() {
  const { documents } = usePage();
  const { mayEdit, resume } = useSession();
  const session = useSessionState((state) => state.session);
  const { isResuming, failure } = useStore(resume.store);
  const unsavedCount = documents.unsaved().length;
  return (
    <div className="paused-overlay">
      <div className="card" role="alertdialog" aria-labelledby="paused-title" aria-describedby="paused-text" aria-busy={isResuming}>
        <div className="symbol">{isResuming ? <div className="spinner small" /> : <Pause size={22} />}</div>
        <h1 id="paused-title">{isResuming ? "Your session is being resumed" : "This session is paused"}</h1>
        <p id="paused-text">
          {pauseReason(session)} Your files are safe.
          {(!session?.autoResume || !mayEdit) && " This page continues when the session is resumed."}
        </p>
        {failure !== null && <p role="status">{failure}</p>}
        {unsavedCount > 0 && (
          <p>Unsaved changes to {unsavedCount === 1 ? "one file" : `${unsavedCount} files`} are kept in this browser.</p>
        )}
        <ResumeButton />
      </div>
    </div>
  );
}

// Unless the partner allows it here, only its backend can resume, so the button asks the page around this one.
function ResumeButton() {
  const { embedding } = usePage();
  const { mayEdit, resume } = useSession();
  const mayResume = useSessionState((state) => state.session?.autoResume ?? false);
  const isResumingHere = useStore(resume.store, (state) => state.isResuming);
  const { canResume: partnerCan, isResuming: partnerResumes } = usePageState("embedding", (state) => state);
  const isResuming = mayResume ? isResumingHere : partnerResumes;
  if (!mayEdit || (!mayResume && !partnerCan)) return null;
  return (
    <div className="row">
      <button
        type="button"
        className="button primary"
        disabled={isResuming}
        onClick={mayResume ? () => void resume.start() : embedding.askToResume}
      >
        {isResuming ? "Resuming…" : "Resume"}
      </button>
    </div>
  );
}

function pauseReason(session: WorkspaceSession | null): string {
  if (session?.reason === "timeout") return "It reached its time limit.";
  if (session?.reason === "idle") return "It was not used for a while.";
  if (session?.reason === "failed") return "Its sandbox stopped unexpectedly.";
  if (session?.reason === "diskFull") return "The server ran out of disk space. It continues by itself when there is space again.";
  if (session?.reason === "diskFailed") return "Its disk stopped accepting changes. Resume it to continue.";
  return `${session?.partnerName ?? "Your provider"} paused it.`;
}
