import type { RunId, SandboxId } from "@berth/contract";
import type { RunAnswer, RunStatus, StartRun } from "@berth/contract/daemon/runs.ts";
import type { ListedRun, StoredRun } from "../../store/runs/run.ts";
import type { Db } from "../../store/schema.ts";
import type { SessionView } from "../../store/sessions/listing/view.ts";
import type { LinkMessage } from "./run-link.ts";

export type { ListedRun, StoredRun } from "../../store/runs/run.ts";

// The runs of partners' sessions. Every method is scoped to a partner: another partner's session or run is not found. Those that reach
// the sandbox wake a session with `autoResume`, and reject with `session_paused` if it may not be woken.
export interface Runs {
  // The row comes first; the daemon gets the run as soon as the session is set up. `record` runs in the transaction of the row.
  create(partnerId: string, sessionId: string, request: StartRun, options?: RunOptions): Promise<StoredRun>;
  // The same for a session that begins to run in this transaction.
  createIn(tx: Db, session: SessionView, run: { id: RunId; request: StartRun }): Promise<void>;
  // After the transaction of `createIn`. Without it, the daemon gets the run a moment later.
  deliver(session: Pick<SessionView, "id">): void;
  // As the daemon says, if it can be asked in a moment and the run is not over. Does not wake the session.
  get(partnerId: string, sessionId: string, runId: string): Promise<StoredRun>;
  // Newest first, as last reported.
  list(partnerId: string, sessionId: string, filter: RunListFilter): Promise<ListedRun[]>;
  // Where the daemon streams the run, or the run if only its row is left. Does not wake the session.
  find(partnerId: string, sessionId: string, runId: string): Promise<{ run: StoredRun; stream: RunStream | null }>;
  // `run_ended` if it is over. Resolves to the run.
  message(partnerId: string, sessionId: string, runId: string, message: LinkMessage): Promise<StoredRun>;
  // No-op if it is over.
  interrupt(partnerId: string, sessionId: string, runId: string): Promise<void>;
  answer(partnerId: string, sessionId: string, runId: string, answer: RunAnswer): Promise<void>;
}

export interface RunOptions {
  record?: ((tx: Db, run: StoredRun) => Promise<void>) | undefined;
}

export interface RunListFilter {
  status?: RunStatus;
  limit: number;
  after?: { createdAt: number; id: string };
}

export interface RunStream {
  sandboxId: SandboxId;
  path: string;
}
