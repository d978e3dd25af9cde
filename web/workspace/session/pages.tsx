import { Anchor, CircleCheck, LogOut, Pause } from "lucide-react";
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
        <p>{slow ? "Still connecting. The page goes on trying by itself." : "Opening your workspace…"}</p>
      </div>
    </main>
  );
}

export function FarewellPage({ phase }: { phase: "destroyed" | "signedOut" }) {
  const partner = useWorkspaceState("session", (state) => state.session?.partnerName);
  const reason = useWorkspaceState("session", (state) => state.session?.reason);
  const from = partner ? `Go back to ${partner}` : "Go back to where you came from";
  if (phase === "signedOut")
    return (
      <Page symbol={<LogOut size={22} />} title="You are signed out of this workspace">
        <p>{from} and open the workspace again. Unsaved text is kept in this browser and will be there.</p>
      </Page>
    );
  return (
    <Page symbol={<CircleCheck size={22} />} title="This session has ended">
      <p>
        {reason === "expired" ? "It had been paused for a long time, so its workspace was removed." : "Its workspace was removed."} {from}{" "}
        to start a new one.
      </p>
      <UnsavedCopies />
    </Page>
  );
}

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

// Over the workbench while the session is paused. It goes away by itself when the session is resumed.
export function PausedVeil() {
  const { documents } = useWorkspace();
  const session = useWorkspaceState("session", (state) => state.session);
  const unsaved = documents.unsaved().length;
  const why = whyPaused(session);
  return (
    <div className="veil">
      <div className="card" role="alertdialog" aria-labelledby="paused-title" aria-describedby="paused-text">
        <div className="symbol">
          <Pause size={22} />
        </div>
        <h1 id="paused-title">This session is paused</h1>
        <p id="paused-text">{why} Your files are safe. This page comes alive by itself as soon as the session is resumed.</p>
        {unsaved > 0 && (
          <p>{unsaved === 1 ? "One file with unsaved text is" : `${unsaved} files with unsaved text are`} kept in this browser.</p>
        )}
      </div>
    </div>
  );
}

function whyPaused(session: WorkspaceSession | null): string {
  if (session?.reason === "timeout") return "Its time was up, so it was paused.";
  if (session?.reason === "failed") return "Its sandbox stopped unexpectedly, so it was paused.";
  return `${session?.partnerName ?? "Your provider"} paused it.`;
}

// The workspace is gone, but text that was never saved is still in this page.
function UnsavedCopies() {
  const { documents } = useWorkspace();
  const unsaved = documents.unsaved();
  if (unsaved.length === 0) return null;
  const keep = (path: string) => {
    const url = URL.createObjectURL(new Blob([documents.textOf(path)]));
    download(url, path);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <>
      <p>Text that was not saved is still here:</p>
      <div className="row">
        {unsaved.map((path) => (
          <button key={path} type="button" className="button" onClick={() => keep(path)}>
            Save a copy of {nameOf(path)}
          </button>
        ))}
      </div>
    </>
  );
}

export const Mark = () => (
  <span className="mark" aria-hidden="true">
    <Anchor size={13} />
  </span>
);

function useElapsed(afterMs: number): boolean {
  const [elapsed, setElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), afterMs);
    return () => clearTimeout(timer);
  }, [afterMs]);
  return elapsed;
}
