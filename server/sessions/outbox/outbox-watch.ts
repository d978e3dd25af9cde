import { setTimeout as delay } from "node:timers/promises";
import { idFrom, isAppError, type RunId, type SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { LinkNews } from "../../daemon-link/link-news.ts";
import { createTokenBuckets, fillTimeMs } from "../../fairness/token-bucket.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import { appendEvent } from "../../store/events.ts";
import type { Store } from "../../store/open.ts";
import { lockSession } from "../../store/runs/write.ts";
import type { Db } from "../../store/schema.ts";
import { findSessionBySandbox, sessionsInState } from "../../store/sessions/read.ts";
import { isAtSite, isPartnerSession, type PartnerSession, type Site } from "../../store/sessions/session.ts";
import { BACKGROUND, forEachConcurrently } from "../background/for-each-concurrently.ts";
import type { Changes } from "../changes.ts";
import { recordReport } from "../runs/record-report.ts";
import { commonEventData } from "../states/event-data.ts";
import type { News, OutboxLink, ProcessNews } from "./outbox-link.ts";

// Records what sandboxes report as events of their sessions. A daemon keeps each report until it is recorded, and a report that is
// recorded twice has the same id, so that each is exactly one event, whichever server reads it and whenever one dies.
export interface OutboxWatch extends AsyncDisposable {
  // Looks at all running sandboxes, because an earlier server may have died.
  begin(): Promise<void>;
  // Records what the sandbox has reported so far.
  catchUp(session: PartnerSession): Promise<void>;
  // The same for a sandbox that is about to be destroyed, if it may have something to report. It has a second, and never rejects.
  recordLast(session: PartnerSession, signal: AbortSignal): Promise<void>;
}

export interface OutboxWatchDeps {
  store: Store;
  link: OutboxLink;
  links: LinkNews;
  // Stops a run that should not go on.
  stopRun(sandboxId: SandboxId, id: RunId, signal: AbortSignal): Promise<void>;
  changes: Changes;
  site: Site;
  clock: Clock;
  log: Log;
}

const WAIT_MS = 30 * SECOND;
const RETRY_MS = 2 * SECOND;
const LAST_READ_MS = 1 * SECOND;
// A sandbox that reports without end must not fill the events of its partner, or keep this server busy.
const REPORTS = { capacity: 1000, fillMs: 500 * SECOND };

export function createOutboxWatch({ store, link, links, stopRun, changes, site, clock, log }: OutboxWatchDeps): OutboxWatch {
  const reportsOf = createTokenBuckets<SandboxId>(clock.now);
  const followed = new Map<SandboxId, Promise<void>>();
  // Sandboxes with news that are not running yet, or whose following was about to end.
  const due = new Set<SandboxId>();
  const closing = new AbortController();
  const { signal } = closing;
  const listeners = [
    links.onNews((sandboxId) => {
      due.add(sandboxId);
      follow(sandboxId);
    }),
    changes.listen(({ sandboxId, status }) => {
      if (status === "running" && due.has(sandboxId)) follow(sandboxId);
      if (status === "destroyed") due.delete(sandboxId);
    }),
  ];

  function follow(sandboxId: SandboxId): void {
    if (followed.has(sandboxId) || signal.aborted) return;
    const following = run(sandboxId).finally(() => followed.get(sandboxId) === following && followed.delete(sandboxId));
    followed.set(sandboxId, following);
  }

  async function run(sandboxId: SandboxId): Promise<void> {
    for (let isOver = false; !isOver && !signal.aborted;) {
      const session = await findRunning(sandboxId);
      if (!session) return;
      due.delete(sandboxId);
      try {
        isOver = !(await readOnce(session, WAIT_MS)) && !due.has(sandboxId);
        // News that come from here on are followed again.
        if (isOver) followed.delete(sandboxId);
      } catch (error) {
        if (signal.aborted) return;
        // Also if the session was paused in the middle, which the next round finds.
        log[isAppError(error) ? "info" : "warn"]("outbox.interrupted", { sessionId: session.id, error: String(error) });
        await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  // Whether more is to come.
  async function readOnce(session: PartnerSession, waitMs: number, until = signal): Promise<boolean> {
    const { news, open } = await link.read(session.sandboxId, waitMs, until);
    if (news.length > 0) {
      const strays = await record(session, news);
      failpoint("outbox.recorded");
      if (news.some(({ about }) => about?.type.startsWith("run."))) failpoint("run.recorded");
      for (const id of strays) await stopRun(session.sandboxId, id, until);
      const ids = news.map(({ id }) => id);
      await link.remove(session.sandboxId, ids, until);
    }
    const reports = reportsOf(session.sandboxId, REPORTS);
    reports.tokens -= 1 + news.length;
    if (reports.tokens < 0) await delay(fillTimeMs(-reports.tokens, REPORTS), undefined, { signal: until });
    return open;
  }

  // Returns the runs that should not go on.
  async function record(session: PartnerSession, news: News[]): Promise<Set<RunId>> {
    const strays = new Set<RunId>();
    await store.transaction(async (tx) => {
      strays.clear();
      if (news.some(({ about }) => about && "report" in about)) await lockSession(tx, store.engine, session.id);
      for (const { id, about } of news) {
        if (!about) continue;
        const nowMs = clock.now();
        if ("end" in about) await recordEnd(tx, session, about, { entryId: id, nowMs });
        else {
          const stray = await recordReport(tx, session, about, { entryId: id, nowMs });
          if (stray) strays.add(stray);
        }
      }
    });
    changes.announce(session);
    return strays;
  }

  async function findRunning(sandboxId: SandboxId): Promise<PartnerSession | null> {
    const session = await findSessionBySandbox(store.db, sandboxId);
    return session && isPartnerSession(session) && session.state === "running" && isAtSite(session, site) ? session : null;
  }

  return {
    async begin() {
      const sessions = await sessionsInState(store.db, site, ["running"]);
      await forEachConcurrently(sessions, BACKGROUND, async (session) => {
        const more = await readOnce(session, 0).catch(() => true);
        if (more) follow(session.sandboxId);
      });
    },
    async catchUp(session) {
      await readOnce(session, 0);
    },
    async recordLast(session, until) {
      const { sandboxId } = session;
      const hasNews = links.isNewsDue(sandboxId) || due.has(sandboxId) || followed.has(sandboxId);
      if (!hasNews) return;
      try {
        await readOnce(session, 0, AbortSignal.any([until, AbortSignal.timeout(LAST_READ_MS)]));
      } catch (error) {
        log.info("outbox.unread", { sessionId: session.id, error: String(error) });
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      for (const listener of listeners) listener[Symbol.dispose]();
      await Promise.all(followed.values());
    },
  };
}

async function recordEnd(
  tx: Db,
  session: PartnerSession,
  { type, end: { status: processStatus, ...ended } }: ProcessNews,
  { entryId, nowMs }: { entryId: string; nowMs: number },
): Promise<void> {
  await appendEvent(tx, {
    id: idFrom("evt", `${session.sandboxId} ${entryId}`),
    partnerId: session.partnerId,
    sessionId: session.id,
    type,
    at: nowMs,
    data: { ...commonEventData(session), processStatus, ...ended },
  });
}
