import { DAY, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { readFact, writeFact } from "../../store/facts.ts";
import type { Store } from "../../store/open.ts";
import type { Site } from "../../store/sessions/session.ts";

// Until when a retention deletes nothing because it has just become shorter. A mistaken setting would otherwise destroy
// people's files within seconds of the start. The store remembers the wait, so that a restart does not shorten it.
export interface RetentionHold {
  // Called at start. Logs and begins a wait if the setting would now delete more than a few.
  begin(): Promise<void>;
  isHeld(): boolean;
}

export interface HoldRetentionDeps {
  store: Store;
  site: Site;
  clock: Clock;
  log: Log;
  setting: "BERTH_PAUSED_DAYS" | "BERTH_SNAPSHOT_DAYS";
  // null: everything is kept.
  retentionMs: number | null;
  // How many are older than this.
  countDue(beforeMs: number): Promise<number>;
}

interface Remembered {
  retentionMs: number | null;
  heldUntilMs: number;
}

const HOLD_MS = 1 * DAY;
const FEW = 3;

export function createRetentionHold(deps: HoldRetentionDeps): RetentionHold {
  const { store, site, clock, log, setting, retentionMs, countDue } = deps;
  const name = `retention ${setting} ${site.driver} ${site.host ?? ""}`.trim();
  let heldUntilMs = 0;

  async function begin(): Promise<void> {
    const stored = await readFact(store.db, name);
    const last = stored === null ? null : (JSON.parse(stored) as Remembered);
    if (last?.retentionMs === retentionMs) {
      heldUntilMs = last.heldUntilMs;
      return;
    }
    heldUntilMs = isShorter(last) ? await holdIfMany() : 0;
    await writeFact(store.db, name, JSON.stringify({ retentionMs, heldUntilMs } satisfies Remembered));
  }

  // The first start that remembers a retention does not know the one before.
  const isShorter = (last: Remembered | null) =>
    retentionMs !== null && (last === null || last.retentionMs === null || retentionMs < last.retentionMs);

  async function holdIfMany(): Promise<number> {
    const nowMs = clock.now();
    const due = await countDue(nowMs - retentionMs!);
    if (due <= FEW) return 0;
    const untilMs = nowMs + HOLD_MS;
    log.warn("retention.held", {
      setting,
      days: retentionMs! / DAY,
      due,
      until: new Date(untilMs).toISOString(),
      message: `${setting} is new, and ${due} ${NOUNS[setting]} are already older. They are deleted with their files from then on. To keep them, set a larger value and restart.`,
    });
    return untilMs;
  }

  return { begin, isHeld: () => clock.now() < heldUntilMs };
}

const NOUNS = { BERTH_PAUSED_DAYS: "paused sessions", BERTH_SNAPSHOT_DAYS: "snapshots" };
