import "../styles/session.css";
import { CircleCheck, LogOut } from "lucide-react";
import type { ReactNode } from "react";
import { usePage, useSessionState } from "../state/context.ts";
import { download } from "../browser/download.ts";
import { nameOf } from "../text/paths.ts";

export default function EndedPage({ phase }: { phase: "destroyed" | "signedOut" }) {
  const partner = useSessionState((state) => state.session?.partnerName);
  const reason = useSessionState((state) => state.session?.reason);
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

// The workspace is deleted, but this page still has the text that was never saved.
function UnsavedCopies() {
  const { documents } = usePage();
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
