import type { Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import type { Site } from "../../store/sessions/session.ts";
import { abandonedSnapshots, snapshotIdsAt, snapshotsTakenBefore, type StoredSnapshot } from "../../store/snapshots/read.ts";
import type { SnapshotWork } from "./snapshot-work.ts";

// Deletes what a dead server has left of snapshots, and snapshots whose retention has ended. Keeps copies without a row in quarantine.
export interface TidySnapshots {
  // `predecessors`: also those of other processes of this site, which are known to be dead.
  finishAbandoned(options?: { predecessors: boolean }): Promise<void>;
  keepUnknown(): Promise<void>;
  removeOld(): Promise<void>;
}

export interface TidySnapshotsDeps {
  store: Store;
  driver: Pick<Driver, "listSnapshots">;
  work: SnapshotWork;
  quarantine: { addAll(kind: "snapshot", ids: readonly string[]): Promise<string[]> };
  site: Site;
  owner: string;
  // null: snapshots are kept until they are deleted.
  retentionMs: number | null;
  // While it holds, nothing is deleted because of its age.
  retention: { isHeld(): boolean };
  clock: Clock;
  log: Log;
  onFound(kind: string): void;
}

const BATCH = 100;
const ENGINE_TIMEOUT_MS = 60_000;

export function createTidySnapshots(deps: TidySnapshotsDeps): TidySnapshots {
  const { store, driver, work, quarantine, site, owner, retentionMs, retention, clock, log, onFound } = deps;

  async function discardAll(snapshots: StoredSnapshot[], reason: string): Promise<void> {
    for (const snapshot of snapshots) {
      log.info("snapshot.discarded", { snapshotId: snapshot.id, state: snapshot.state, reason });
      await work
        .discard(snapshot)
        .catch((error: unknown) => log.error("snapshot.discard_failed", { snapshotId: snapshot.id, error: String(error) }));
    }
  }

  return {
    async finishAbandoned({ predecessors } = { predecessors: false }) {
      const onlyOwnerAlive = predecessors ? owner : undefined;
      const found = await abandonedSnapshots(store.db, site, { nowMs: clock.now(), onlyOwnerAlive });
      for (const _ of found) onFound("snapshot_abandoned");
      await discardAll(found, "abandoned");
    },

    async keepUnknown() {
      // The list comes first: a copy is made only after its row, so the store has lost the row of a copy without one.
      const listed = await driver.listSnapshots(AbortSignal.timeout(ENGINE_TIMEOUT_MS));
      if (listed.length === 0) return;
      const known = await snapshotIdsAt(store.db, site);
      const unknown = listed.filter((id) => !known.has(id));
      for (const _ of await quarantine.addAll("snapshot", unknown)) onFound("snapshot_orphan");
    },

    async removeOld() {
      if (retentionMs === null || retention.isHeld()) return;
      await discardAll(await snapshotsTakenBefore(store.db, site, clock.now() - retentionMs, BATCH), "retention");
    },
  };
}
