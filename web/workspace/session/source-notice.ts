import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import type { SessionState } from "../state/session/session-store.ts";

// The parts of the workspace that this module uses.
export interface SourceNoticeDeps {
  session: { store: { getState(): SessionState; subscribe(listener: () => void): () => void } };
  notices: {
    warn(text: string, action?: { label: string; run: () => void }): number;
    dismiss(id: number): void;
    attempt(failure: string, work: () => Promise<unknown>): Promise<boolean>;
  };
  api: { retrySource(): Promise<void> };
}

// For a session from a repository: says why the repository could not be fetched, and offers another try.
export function followSource({ session, notices, api }: SourceNoticeDeps): Disposable {
  let shown: { id: number; text: string } | null = null;

  function check(): void {
    const text = describeFailure(session.store.getState().session);
    if (text === (shown?.text ?? null)) return;
    if (shown) notices.dismiss(shown.id);
    shown = text === null ? null : { text, id: notices.warn(text, { label: "Retry", run: retry }) };
  }

  function retry(): void {
    shown = null;
    void notices.attempt("The repository was not fetched again", api.retrySource).then((done) => done || check());
  }

  const unsubscribe = session.store.subscribe(check);
  check();
  return { [Symbol.dispose]: unsubscribe };
}

export function describeFailure(session: Pick<WorkspaceSession, "status" | "source"> | null): string | null {
  if (session?.status !== "running" || session.source?.status !== "failed") return null;
  return `The repository could not be fetched. ${session.source.reason ?? ""}`.trim();
}
