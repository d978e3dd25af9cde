import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError, isRunId, MAX_UNFINISHED_RUNS, newId, type RunId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Store } from "../../store/open.ts";
import { isFinal } from "../../store/runs/run.ts";
import { countUnfinished, findRun, listRuns, type FoundRun } from "../../store/runs/read.ts";
import { insertRun, lockSession } from "../../store/runs/write.ts";
import { isAtSite, isPartnerSession, statusOf, type PartnerSession, type Session, type Site } from "../../store/sessions/session.ts";
import { viewOf } from "../../store/sessions/listing/view.ts";
import type { Changes } from "../changes.ts";
import { findOwnSession } from "../find-session.ts";
import type { Activity } from "../idle/activity.ts";
import type { ServerDirectory } from "../server-directory.ts";
import type { Sessions } from "../sessions.ts";
import { isReachable, type RunDelivery } from "./run-delivery.ts";
import { endRunIn } from "../states/run-ends.ts";
import { eventsPath, type RunLink } from "./run-link.ts";
import { applyReport } from "./run-report.ts";
import type { Runs, StoredRun } from "./runs.ts";

export interface RunCallsDeps {
  store: Store;
  sessions: Pick<Sessions, "wake">;
  link: RunLink;
  delivery: Pick<RunDelivery, "deliver">;
  // Records what the sandbox has reported so far.
  outbox: { catchUp(session: PartnerSession): Promise<void> };
  changes: Pick<Changes, "announce">;
  activity: Pick<Activity, "note">;
  servers: Pick<ServerDirectory, "elsewhere">;
  site: Site;
  clock: Clock;
}

const CATCH_UP_MS = 2 * SECOND;

export function createRunCalls(deps: RunCallsDeps): Runs {
  const { store, sessions, link, delivery, outbox, changes, activity, servers, site, clock } = deps;

  async function find(partnerId: string, sessionId: string, runId: string): Promise<{ session: PartnerSession; run: FoundRun }> {
    const session = await findOwnSession(store.db, partnerId, sessionId);
    const run = isRunId(runId) ? await findRun(store.db, session.id, runId) : null;
    if (!run) throw new AppError("run_not_found");
    return { session, run };
  }

  // The session when its sandbox can be called. Rejects if it is paused and may not be resumed.
  async function reach(partnerId: string, sessionId: string): Promise<PartnerSession> {
    const view = await sessions.wake(partnerId, sessionId);
    const session = await findOwnSession(store.db, partnerId, sessionId);
    if (!isAtSite(session, site)) throw await servers.elsewhere(session.site);
    activity.note(view);
    return session;
  }

  // The daemon of a run that is not over. It knows the run.
  async function inSandbox(partnerId: string, { session, run }: { session: PartnerSession; run: FoundRun }, call: SandboxCall) {
    const { sandboxId } = await reach(partnerId, session.id);
    if (run.pending !== null && (await requireDelivered(session.id, run.id)).endedAtMs !== null) throw new AppError("run_ended");
    try {
      await call(sandboxId, run.id);
    } catch (error) {
      const now = isAppError(error, "sandbox_unreachable") ? await findOwnSession(store.db, partnerId, session.id) : null;
      throw (now && notRunning(now)) ?? error;
    }
  }

  // The run after its delivery. A short one may be over by then.
  async function requireDelivered(sessionId: string, id: RunId): Promise<FoundRun> {
    await delivery.deliver(sessionId);
    const run = await findRun(store.db, sessionId, id);
    if (!run) throw new AppError("run_not_found");
    if (run.pending !== null && run.endedAtMs === null) throw new AppError("run_waiting");
    return run;
  }

  async function findUnfinished(partnerId: string, sessionId: string, runId: string) {
    const found = await find(partnerId, sessionId, runId);
    if (found.run.endedAtMs !== null) throw new AppError("run_ended");
    return found;
  }

  async function refresh(session: PartnerSession, run: FoundRun): Promise<StoredRun> {
    if (run.endedAtMs !== null || run.pending !== null || !isReachable(session, site)) return run;
    const report = await link.read(session.sandboxId, run.id).catch(() => "unreachable" as const);
    if (report === "unreachable" || (report && report.revision < run.revision)) return run;
    if (report && !isFinal(report.status)) return { ...run, ...applyReport(run, report, clock.now()) };
    // Its end counts when it is recorded, after what has happened before.
    const waiting = new AbortController();
    const timeout = delay(CATCH_UP_MS, undefined, { signal: waiting.signal }).catch(() => {});
    const isCaughtUp = outbox.catchUp(session).then(
      () => true,
      () => false,
    );
    const hasAll = await Promise.race([isCaughtUp, timeout]);
    waiting.abort();
    if (report === null && hasAll) await endUnknown(session.id, run.id);
    return (await findRun(store.db, session.id, run.id)) ?? run;
  }

  // The daemon has lost what it knew of the run, so no report of its end will come.
  const endUnknown = (sessionId: string, id: RunId) =>
    end(sessionId, id, { status: "lost", reason: null, message: "The sandbox no longer knows the run." });

  const endUndelivered = (sessionId: string, id: RunId) =>
    end(sessionId, id, { status: "interrupted", reason: "requested", message: "The run was interrupted before it began." }, "undelivered");

  // False: the run is over, or was delivered in the meantime.
  async function end(sessionId: string, id: RunId, how: ServerEnd, which: "any" | "undelivered" = "any"): Promise<boolean> {
    const ended = await store.transaction(async (tx) => {
      const session = await lockSession(tx, store.engine, sessionId);
      const run = await findRun(tx, sessionId, id);
      if (!session || !isPartnerSession(session) || !run || (which === "undelivered" && run.pending === null)) return null;
      return (await endRunIn(tx, session, run, { ...how, code: null, pending: "interrupt", nowMs: clock.now() })) && session;
    });
    if (!ended) return false;
    changes.announce(ended);
    void delivery.deliver(sessionId);
    return true;
  }

  return {
    async create(partnerId, sessionId, request, { record } = {}) {
      const { id } = await reach(partnerId, sessionId);
      const run = await store.transaction(async (tx) => {
        const session = requireRunning(await lockSession(tx, store.engine, id));
        if ((await countUnfinished(tx, id)) >= MAX_UNFINISHED_RUNS) throw new AppError("run_quota");
        const { externalUserId } = session;
        const nowMs = clock.now();
        const added = await insertRun(tx, { id: newId("run", nowMs), partnerId, sessionId: id, externalUserId, request, nowMs });
        await record?.(tx, added);
        return added;
      });
      failpoint("run.accepted");
      void delivery.deliver(id);
      return run;
    },
    async createIn(tx, { id: sessionId, partnerId, externalUserId }, { id, request }) {
      await insertRun(tx, { id, partnerId, sessionId, externalUserId, request, nowMs: clock.now() });
    },
    deliver: ({ id }) => void delivery.deliver(id),
    async get(partnerId, sessionId, runId) {
      const { session, run } = await find(partnerId, sessionId, runId);
      return refresh(session, run);
    },
    async list(partnerId, sessionId, filter) {
      const { id } = await findOwnSession(store.db, partnerId, sessionId);
      return listRuns(store.db, { partnerId, sessionId: id, ...filter });
    },
    async find(partnerId, sessionId, runId) {
      const { session, run: found } = await find(partnerId, sessionId, runId);
      const error = notRunning(session) ?? (isAtSite(session, site) ? null : await servers.elsewhere(session.site));
      if (found.endedAtMs !== null && error) return { run: found, stream: null };
      if (error) throw error;
      const run = found.pending !== null && found.endedAtMs === null ? await requireDelivered(session.id, found.id) : found;
      return { run, stream: { sandboxId: session.sandboxId, path: eventsPath(run.id) } };
    },
    async message(partnerId, sessionId, runId, message) {
      const found = await findUnfinished(partnerId, sessionId, runId);
      await inSandbox(partnerId, found, (sandboxId, id) => link.message(sandboxId, id, message));
      return found.run;
    },
    async interrupt(partnerId, sessionId, runId) {
      const found = await find(partnerId, sessionId, runId);
      const { session, run } = found;
      if (run.endedAtMs !== null) return;
      if (run.pending !== null && (await endUndelivered(session.id, run.id))) return;
      await inSandbox(partnerId, { session, run: { ...run, pending: null } }, (sandboxId, id) => link.interrupt(sandboxId, id));
    },
    async answer(partnerId, sessionId, runId, answer) {
      const found = await findUnfinished(partnerId, sessionId, runId);
      await inSandbox(partnerId, found, (sandboxId, id) => link.answer(sandboxId, id, answer));
    },
  };
}

type SandboxCall = (sandboxId: PartnerSession["sandboxId"], id: RunId) => Promise<void>;

interface ServerEnd {
  status: "lost" | "interrupted";
  reason: "requested" | null;
  message: string;
}

// Why the sandbox of a session cannot be called; null if it can.
function notRunning(session: PartnerSession): AppError | null {
  if (session.state === "destroyed" || session.state === "destroying") return new AppError("session_not_found");
  return statusOf(session) === "paused" || session.state === "pausing" ? new AppError("session_paused") : null;
}

// A run that comes while the session is being paused waits for its resume, as one that came before.
function requireRunning(session: Session | null): PartnerSession {
  if (!session || !isPartnerSession(session) || viewOf(session) === null) throw new AppError("session_not_found");
  const error = session.state === "pausing" ? null : notRunning(session);
  if (error) throw error;
  return session;
}
