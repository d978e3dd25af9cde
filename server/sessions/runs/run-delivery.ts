import { isAppError, type AppError, type ErrorCode, type RunId } from "@berth/contract";
import type { StartRun } from "@berth/contract/daemon/runs.ts";
import type { Clock } from "../../clock.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { findRun, pendingRunsOf, sessionsWithPendingRuns } from "../../store/runs/read.ts";
import { clearPending, lockSession } from "../../store/runs/write.ts";
import { findSession } from "../../store/sessions/read.ts";
import { isAtSite, isPartnerSession, type PartnerSession, type Site } from "../../store/sessions/session.ts";
import { BACKGROUND, forEachConcurrently } from "../background/for-each-concurrently.ts";
import type { Changes } from "../changes.ts";
import { endRunIn } from "../states/run-ends.ts";
import type { RunLink } from "./run-link.ts";

// Tells daemons of runs. What a daemon has to learn is in the row, so whichever server finds it delivers it, and the daemon ignores what
// it knows.
export interface RunDelivery extends AsyncDisposable {
  // Delivers what is pending in a session, if it runs and is set up. Resolves when that was tried.
  deliver(sessionId: string): Promise<void>;
  // Delivers what no call has delivered.
  tick(): Promise<void>;
}

export interface RunDeliveryDeps {
  store: Store;
  link: RunLink;
  changes: Pick<Changes, "announce">;
  site: Site;
  clock: Clock;
  log: Log;
}

export function createRunDelivery({ store, link, changes, site, clock, log }: RunDeliveryDeps): RunDelivery {
  const delivering = new Map<string, Promise<void>>();
  const closing = new AbortController();

  function deliver(sessionId: string): Promise<void> {
    const attempt = (delivering.get(sessionId) ?? Promise.resolve())
      .then(() => deliverAll(sessionId))
      // The next tick tries again.
      .catch((error: unknown) => {
        if (!closing.signal.aborted) log[isAppError(error) ? "info" : "warn"]("run.not_delivered", { sessionId, error: String(error) });
      })
      .finally(() => {
        if (delivering.get(sessionId) === attempt) delivering.delete(sessionId);
      });
    delivering.set(sessionId, attempt);
    return attempt;
  }

  async function deliverAll(sessionId: string): Promise<void> {
    const session = await findSession(store.db, sessionId);
    if (!session || !isReachable(session, site) || session.setupState !== null || closing.signal.aborted) return;
    for (const { id, pending } of await pendingRunsOf(store.db, sessionId)) {
      if (pending === "interrupt") await stop(session, id);
      else await start(session, id, pending.start);
    }
  }

  async function stop({ sandboxId }: PartnerSession, id: RunId): Promise<void> {
    await link.interrupt(sandboxId, id, closing.signal);
    await clearPending(store.db, id, "interrupt");
  }

  async function start(session: PartnerSession, id: RunId, run: StartRun): Promise<void> {
    try {
      await link.start(session.sandboxId, id, run, closing.signal);
    } catch (error) {
      if (!isRefused(error)) throw error;
      return fail(session, id, error);
    }
    failpoint("run.delivered");
    if (await clearPending(store.db, id, { start: run })) return;
    // It was interrupted in the meantime, perhaps before the daemon knew it.
    const found = await findRun(store.db, session.id, id);
    if (found?.endedAtMs != null) await stop(session, id);
  }

  async function fail({ id: sessionId }: PartnerSession, id: RunId, { code, message }: AppError): Promise<void> {
    const failed = await store.transaction(async (tx) => {
      const session = await lockSession(tx, store.engine, sessionId);
      const run = await findRun(tx, sessionId, id);
      if (!session || !isPartnerSession(session) || !run) return null;
      const end = { status: "failed", reason: "error", code, message, pending: null, nowMs: clock.now() } as const;
      return (await endRunIn(tx, session, run, end)) && session;
    });
    if (failed) changes.announce(failed);
  }

  return {
    deliver,
    async tick() {
      const sessions = await sessionsWithPendingRuns(store.db, site);
      const left = sessions.filter((id) => !delivering.has(id));
      await forEachConcurrently(left, BACKGROUND, deliver);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(delivering.values());
    },
  };
}

// Whether this server can call the session's daemon.
export const isReachable = (session: Parameters<typeof isPartnerSession>[0], site: Site): session is PartnerSession =>
  isPartnerSession(session) && session.state === "running" && isAtSite(session, site);

// The daemon says that the run cannot begin, now and later.
const isRefused = (error: unknown): error is AppError =>
  isAppError(error) && [400, 404, 409, 413, 507].includes(error.status) && !PASSING.includes(error.code);
const PASSING: readonly ErrorCode[] = ["session_paused"];
