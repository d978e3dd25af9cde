import { setImmediate as nextTurn } from "node:timers/promises";
import { SECOND, type Clock } from "../clock.ts";
import { runWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/open.ts";
import type { Db } from "../store/schema.ts";
import { endOpenings, insertOpenings, MAX_OPENINGS, setOpeningEnd, type Opening } from "../store/session-logs/openings.ts";
import type { Site } from "../store/sessions/session.ts";
import { shortenAgent } from "./shorten-agent.ts";

// Records who opened which session: one row for each launch URL that was used, with the time when its last page was closed. Rows
// are written together every FLUSH_MS, so that opening a workspace waits for no write. A crash loses at most these.
export interface OpeningLog extends AsyncDisposable {
  add(opening: NewOpening): void;
  // A page of this opening is connected until the result is disposed.
  connect(opening: OpeningId): Disposable;
  flush(): Promise<void>;
}

export interface OpeningId {
  sessionId: string;
  openedAt: number;
}

export interface NewOpening extends OpeningId {
  address: string;
  userAgent: string | undefined;
  role: string | null;
  name: string | null;
}

export interface OpeningLogDeps {
  store: Store;
  site: Site;
  clock: Clock;
  log: Log;
}

const FLUSH_MS = 2 * SECOND;
const MAX_WAITING = 5000;
const BATCH = 50;
const WORK = { name: "openings" };

interface Pages extends OpeningId {
  connected: number;
  // When the last one was closed.
  endedAt: number;
}

export function createOpeningLog({ store, site, clock, log }: OpeningLogDeps): OpeningLog {
  let added: Omit<Opening, "endedAt">[] = [];
  // The openings with connected pages, and those that changed since the last flush.
  const pages = new Map<string, Pages>();
  let changed = new Set<string>();
  let flushing: Promise<void>;

  const endOf = (opening: OpeningId): number | null => {
    const known = pages.get(keyOf(opening));
    // An opening without a page ended when it began: a program fetched the URL.
    return known ? (known.connected > 0 ? null : known.endedAt) : opening.openedAt;
  };

  // One after the other, so that the newest state of an opening is written last.
  function flush(): Promise<void> {
    flushing = flushing.then(write, write);
    return flushing;
  }

  async function write(): Promise<void> {
    const inserted = newestOfEach(added).map((opening) => ({ ...opening, endedAt: endOf(opening) }));
    const written = new Set(inserted.map(keyOf));
    const ended = [...changed].flatMap((key) => (written.has(key) ? [] : (pages.get(key) ?? [])));
    const updated = ended.map((opening) => ({ ...opening, endedAt: endOf(opening) }));
    added = [];
    changed = new Set();
    for (const [key, { connected }] of pages) if (connected === 0) pages.delete(key);
    await writeBatches(inserted, insertOpenings);
    await writeBatches(updated, async (tx, some) => {
      for (const opening of some) await setOpeningEnd(tx, opening);
    });
  }

  async function writeBatches<Row>(rows: readonly Row[], write: (tx: Db, some: readonly Row[]) => Promise<void>): Promise<void> {
    for (let at = 0; at < rows.length; at += BATCH) {
      await store.transaction((tx) => write(tx, rows.slice(at, at + BATCH)), { sync: "later" });
      await nextTurn();
    }
  }

  const logFailure = (work: () => Promise<void>) =>
    runWork(WORK, work).catch((error: unknown) => log.warn("openings.failed", { error: String(error) }));
  // On a cluster, other servers may hold pages of the same sessions.
  flushing = site.host === null ? Promise.resolve() : logFailure(() => endOpenings(store.db, site, clock.now()));
  const timer = clock.every(FLUSH_MS, () => logFailure(flush));

  return {
    flush,
    add({ userAgent, ...opening }) {
      if (added.length < MAX_WAITING) added.push({ ...opening, agent: shortenAgent(userAgent) });
    },
    connect({ sessionId, openedAt }) {
      const key = keyOf({ sessionId, openedAt });
      const known = pages.get(key) ?? { sessionId, openedAt, connected: 0, endedAt: openedAt };
      pages.set(key, known);
      if (known.connected++ === 0) changed.add(key);
      return {
        [Symbol.dispose]() {
          known.endedAt = clock.now();
          if (--known.connected === 0) changed.add(key);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await timer[Symbol.asyncDispose]();
      await logFailure(flush);
    },
  };
}

const keyOf = ({ sessionId, openedAt }: OpeningId): string => `${sessionId} ${openedAt}`;

// A launch URL works repeatedly, so a program could open one session many times between two flushes.
function newestOfEach<Given extends OpeningId>(openings: readonly Given[]): Given[] {
  const bySession = Map.groupBy(openings, ({ sessionId }) => sessionId);
  return [...bySession.values()].flatMap((some) => [...new Map(some.slice(-MAX_OPENINGS).map((one) => [keyOf(one), one])).values()]);
}
