import { CircleCheck, LogOut, Pause } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import type { WorkspaceSession } from "@berth/contract/workspace.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { download } from "../browser/download.ts";
import { nameOf } from "../text/paths.ts";

export function ConnectingPage() {
  const slow = useElapsed(4000);
  return (
    <main className="page" aria-busy="true">
      <div className="empty" role="status">
        <div className="spinner" />
        <p>{slow ? "Still connecting. This page keeps trying." : "Opening your workspace…"}</p>
      </div>
    </main>
  );
}

export function EndedPage({ phase }: { phase: "destroyed" | "signedOut" }) {
  const partner = useWorkspaceState("session", (state) => state.session?.partnerName);
  const reason = useWorkspaceState("session", (state) => state.session?.reason);
  const goBack = partner ? `Go back to ${partner}` : "Go back to the page where you opened it";
  if (phase === "signedOut")
    return (
      <Page symbol={<LogOut size={22} />} title="You are signed out of this workspace">
        <p>{goBack} and open the workspace again. Your unsaved changes are kept in this browser.</p>
      </Page>
    );
  return (
    <Page symbol={<CircleCheck size={22} />} title="This session has ended">
      <p>
        {END_REASONS[reason ?? ""] ?? "Its workspace was deleted."} {goBack} to start a new session.
      </p>
      <UnsavedCopies />
    </Page>
  );
}

const END_REASONS: Record<string, string> = {
  expired: "It was paused for too long, so its workspace was deleted.",
  timeout: "It reached its time limit, so its workspace was deleted.",
};

function Page({ symbol, title, children }: { symbol: ReactNode; title: string; children: ReactNode }) {
  return (
    <main className="page">
      <div className="card" role="status">
        <div className="symbol">{symbol}</div>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}

// Covers the workbench while the session is paused.
export function PausedOverlay() {
  const { documents } = useWorkspace();
  const session = useWorkspaceState("session", (state) => state.session);
  const { isResuming, failure } = useWorkspaceState("resume", (state) => state);
  const unsavedCount = documents.unsaved().length;
  return (
    <div className="paused-overlay">
      <div className="card" role="alertdialog" aria-labelledby="paused-title" aria-describedby="paused-text" aria-busy={isResuming}>
        <div className="symbol">{isResuming ? <div className="spinner small" /> : <Pause size={22} />}</div>
        <h1 id="paused-title">{isResuming ? "Your session is being resumed" : "This session is paused"}</h1>
        <p id="paused-text">
          {pauseReason(session)} Your files are safe.{!session?.autoResume && " This page continues when the session is resumed."}
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
  const { embedding, resume } = useWorkspace();
  const mayResume = useWorkspaceState("session", (state) => state.session?.autoResume ?? false);
  const isResumingHere = useWorkspaceState("resume", (state) => state.isResuming);
  const { canResume: partnerCan, isResuming: partnerResumes } = useWorkspaceState("embedding", (state) => state);
  const isResuming = mayResume ? isResumingHere : partnerResumes;
  if (!mayResume && !partnerCan) return null;
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
  return `${session?.partnerName ?? "Your provider"} paused it.`;
}

// The workspace is deleted, but this page still has the text that was never saved.
function UnsavedCopies() {
  const { documents } = useWorkspace();
  const unsaved = documents.unsaved();
  if (unsaved.length === 0) return null;
  const saveCopy = (path: string) => {
    const url = URL.createObjectURL(new Blob([documents.textOf(path)]));
    download(url, path);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <>
      <p>These files have unsaved changes:</p>
      <div className="row">
        {unsaved.map((path) => (
          <button key={path} type="button" className="button" onClick={() => saveCopy(path)}>
            Save a copy of {nameOf(path)}
          </button>
        ))}
      </div>
    </>
  );
}

function useElapsed(afterMs: number): boolean {
  const [elapsed, setElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), afterMs);
    return () => clearTimeout(timer);
  }, [afterMs]);
  return elapsed;
}
