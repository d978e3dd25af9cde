import type { SessionId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
export { idleWarningMs } from "../../store/sessions/idle.ts";
import { recordActivity } from "../../store/sessions/idle.ts";
import { BACKGROUND, forEachConcurrently } from "../background/for-each-concurrently.ts";

// Remembers when sessions with an idle timeout were last used, and writes it down at most once a minute for each. A session's
// shortest idle timeout is two minutes, so any server can decide by the row alone that a session is idle: an activity that is
// not in the row yet is preceded by one that is.
export interface Activity {
  // Something happens in the session now. Costs no query; no-op for a session without an idle timeout.
  note(session: UsedSession): void;
  // The session was in use at an earlier time.
  noteAt(session: UsedSession, atMs: number): void;
  // The session is in use from now until the result is disposed.
  begin(session: UsedSession): Disposable;
  // The last use that this server knows of; null if it knows of none in the last minutes.
  lastMs(id: SessionId): number | null;
  // Writes what was noted, except for sessions that were written less than a minute ago.
  flush(): Promise<void>;
  // Writes everything, before the server stops.
  flushAll(): Promise<void>;
}

// The part of a session that matters here. Both numbers are null if it has no idle timeout, and `idleAt` if it does not run.
export interface UsedSession {
  id: SessionId;
  idleTimeoutMs: number | null;
  idleAt: number | null;
}

export interface ActivityDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

interface Use {
  id: SessionId;
  lastMs: number;
  // The last use that the row has, and when it was written.
  recordedMs: number;
  writtenMs: number;
  // How many uses go on.
  open: number;
}

const WRITE_INTERVAL_MS = MINUTE;
const FORGET_MS = 2 * MINUTE;

export function createActivity({ store, clock, log }: ActivityDeps): Activity {
  const uses = new Map<SessionId, Use>();

  function useOf({ id, idleTimeoutMs, idleAt }: UsedSession): Use | null {
    if (idleTimeoutMs === null || idleAt === null) return null;
    const known = uses.get(id);
    if (known) return known;
    const recordedMs = idleAt - idleTimeoutMs;
    const use = { id, lastMs: recordedMs, recordedMs, writtenMs: recordedMs, open: 0 };
    uses.set(id, use);
    return use;
  }

  const noteAt: Activity["noteAt"] = (session, atMs) => {
    const use = useOf(session);
    if (use) use.lastMs = Math.max(use.lastMs, atMs);
  };

  function begin(session: UsedSession): Disposable {
    const use = useOf(session);
    if (use) use.open++;
    let isOpen = use !== null;
    return {
      [Symbol.dispose]() {
        if (!use || !isOpen) return;
        isOpen = false;
        use.open--;
        use.lastMs = clock.now();
      },
    };
  }

  async function write(use: Use): Promise<void> {
    const { lastMs } = use;
    try {
      await recordActivity(store.laterDb, use.id, lastMs);
      use.recordedMs = lastMs;
      use.writtenMs = clock.now();
    } catch (error) {
      // The next flush tries again.
      log.warn("activity.not_written", { sessionId: use.id, error: String(error) });
    }
  }

  async function writeIf(isDue: (use: Use) => boolean): Promise<void> {
    const nowMs = clock.now();
    for (const use of uses.values()) {
      if (use.open > 0) use.lastMs = nowMs;
      if (use.open === 0 && use.lastMs <= use.recordedMs && nowMs - use.lastMs > FORGET_MS) uses.delete(use.id);
    }
    const due = [...uses.values()].filter((use) => use.lastMs > use.recordedMs && isDue(use));
    await forEachConcurrently(due, BACKGROUND, write);
  }

  return {
    note: (session) => noteAt(session, clock.now()),
    noteAt,
    begin,
    lastMs(id) {
      const use = uses.get(id);
      if (!use) return null;
      return use.open > 0 ? clock.now() : use.lastMs;
    },
    flush: () => writeIf(({ writtenMs }) => clock.now() - writtenMs >= WRITE_INTERVAL_MS),
    flushAll: () => writeIf(() => true),
  };
}
