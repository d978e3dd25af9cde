import { AppError, newId } from "@berth/contract";
import type { MachineDisk } from "../../disk-space.ts";
import { MINUTE, type Clock } from "../../clock.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import type { Driver } from "../../drivers/driver.ts";
import { describeError } from "../../faults/describe-error.ts";
import { failpoint } from "../../faults/failpoints.ts";
import { holdPoint } from "../../faults/hold-points.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { lockPartner } from "../../store/partners/partners.ts";
import type { Db } from "../../store/schema.ts";
import { findSession } from "../../store/sessions/read.ts";
import type { Site, Lease, PartnerSession } from "../../store/sessions/session.ts";
import { snapshotUse, type StoredSnapshot } from "../../store/snapshots/read.ts";
import { finishSnapshot, insertSnapshot, releaseSnapshot, removeSnapshot } from "../../store/snapshots/write.ts";
import { appendSnapshotEvent, beginDiscard } from "./snapshot-events.ts";
import type { SnapshotLimits, SnapshotRecorder } from "./snapshots.ts";

// Makes and deletes snapshots so that a crash loses nothing: the row comes before the files and goes after them.
export interface SnapshotWork {
  make(session: PartnerSession, options: MakeOptions): Promise<StoredSnapshot>;
  // Deletes the files and then the row. False, and nothing happens, if the snapshot has changed since it was read.
  discard(snapshot: StoredSnapshot, record?: SnapshotRecorder): Promise<boolean>;
}

export interface MakeOptions {
  purpose: StoredSnapshot["purpose"];
  name: string;
  record?: SnapshotRecorder | undefined;
}

export interface SnapshotWorkDeps {
  store: Store;
  driver: Driver;
  links: Pick<DaemonLinks, "save">;
  site: Site;
  owner: string;
  limits: SnapshotLimits;
  disk: Pick<MachineDisk, "admitNew" | "onChange">;
  clock: Clock;
  log: Log;
  // An event of this partner was stored.
  onEvent(partnerId: string): void;
}

const COPY_TIMEOUT_MS = 10 * MINUTE;
// Also long enough for the sessions that are forked from a copy.
const LEASE_MS = 30 * MINUTE;
const SAVE_TIMEOUT_MS = 5_000;

export function createSnapshotWork(deps: SnapshotWorkDeps): SnapshotWork {
  const { store, driver, links, site, owner, limits, disk, clock, log, onEvent } = deps;
  const lease = (): Lease => ({ owner, untilMs: clock.now() + LEASE_MS });

  async function begin(session: PartnerSession, { purpose, name }: MakeOptions): Promise<StoredSnapshot> {
    const { partnerId, id: sessionId, template, setup } = session;
    const image = setup?.image?.status === "used" ? setup.image.name : null;
    const nowMs = clock.now();
    const row = { id: newId("snp", nowMs), partnerId, sessionId, purpose, name, template, image, site, lease: lease(), nowMs };
    await store.transaction(async (tx) => {
      if (purpose === "keep") await checkQuota(tx, partnerId, { more: 1, bytes: 0 });
      await insertSnapshot(tx, row);
    });
    return { ...row, state: "creating", bytes: null, leaseUntilMs: row.lease.untilMs, createdAtMs: nowMs };
  }

  async function checkQuota(tx: Db, partnerId: string, { more, bytes }: { more: number; bytes: number }): Promise<void> {
    if (store.engine === "postgres") await lockPartner(tx, partnerId);
    const use = await snapshotUse(tx, partnerId);
    if (use.count + more > limits.maxSnapshots)
      throw new AppError("snapshot_quota", { message: `The limit of ${limits.maxSnapshots} snapshots is reached` });
    if (use.bytes + bytes > limits.maxSnapshotBytes)
      throw new AppError("snapshot_quota", {
        message: `The limit of ${Math.floor(limits.maxSnapshotBytes / 2 ** 20)} MiB for snapshots is reached`,
      });
  }

  // Terminals and conversations are in the daemon's memory for some seconds before it writes them.
  async function saveDaemon({ state, sandboxId }: PartnerSession): Promise<void> {
    if (state !== "running") return;
    await links
      .save(sandboxId, AbortSignal.timeout(SAVE_TIMEOUT_MS))
      .catch((error: unknown) => log.warn("snapshot.daemon_not_saved", { sandboxId, error: String(error) }));
  }

  async function make(session: PartnerSession, options: MakeOptions): Promise<StoredSnapshot> {
    disk.admitNew();
    const begun = await begin(session, options);
    failpoint("snapshot.begun");
    // A copy takes space, and the sandbox goes on writing until it is complete.
    const full = new AbortController();
    using _watching = disk.onChange((level) => level === "full" && full.abort(new AppError("server_disk_full")));
    try {
      await holdPoint(session.id, "snapshot.begun");
      await saveDaemon(session);
      const startedMs = performance.now();
      const { bytes, frozenMs } = await driver.takeSnapshot(
        session.sandboxId,
        begun.id,
        AbortSignal.any([full.signal, AbortSignal.timeout(COPY_TIMEOUT_MS)]),
      );
      failpoint("snapshot.copied");
      const done = await complete(begun, bytes, options.record);
      failpoint("snapshot.left");
      const times = { tookMs: Math.round(performance.now() - startedMs), frozenMs: Math.round(frozenMs) };
      log.info("snapshot.created", { snapshotId: begun.id, sessionId: session.id, sandboxId: session.sandboxId, bytes, ...times });
      return done;
    } catch (error) {
      log.error("snapshot.failed", { snapshotId: begun.id, sessionId: session.id, error: describeError(error) });
      await discard(begun).catch((second: unknown) => log.error("snapshot.undo_failed", { snapshotId: begun.id, error: String(second) }));
      throw (await isDestroyed(session)) ? new AppError("session_not_found", { cause: error }) : error;
    }
  }

  // The sandbox goes before the row says `destroyed`.
  async function isDestroyed({ id }: PartnerSession): Promise<boolean> {
    const found = await findSession(store.db, id);
    return !found || found.state === "destroying" || found.state === "destroyed";
  }

  async function complete({ id, purpose, partnerId }: StoredSnapshot, bytes: number | null, record?: SnapshotRecorder) {
    const done = await store.transaction(async (tx) => {
      if (purpose === "keep" && partnerId !== null) await checkQuota(tx, partnerId, { more: 0, bytes: bytes ?? 0 });
      const finished = await finishSnapshot(tx, id, owner, bytes);
      if (!finished) throw new AppError("session_busy", { message: "Another server took over this snapshot" });
      await record?.(tx, finished);
      await appendSnapshotEvent(tx, finished, "snapshot.created", clock.now());
      return finished;
    });
    if (partnerId !== null) onEvent(partnerId);
    return done;
  }

  async function discard(snapshot: StoredSnapshot, record?: SnapshotRecorder): Promise<boolean> {
    const taken = await store.transaction(async (tx) => {
      const begun = await beginDiscard(tx, snapshot, lease(), clock.now());
      if (begun) await record?.(tx, snapshot);
      return begun;
    });
    if (!taken) return false;
    failpoint("snapshot_delete.begun");
    await holdPoint(snapshot.id, "snapshot_delete.begun");
    if (snapshot.partnerId !== null) onEvent(snapshot.partnerId);
    try {
      await driver.deleteSnapshot(snapshot.id, AbortSignal.timeout(COPY_TIMEOUT_MS));
    } catch (error) {
      // The next look of any server tries again.
      await releaseSnapshot(store.db, snapshot.id);
      throw error;
    }
    failpoint("snapshot_delete.deleted");
    await removeSnapshot(store.db, snapshot.id);
    return true;
  }

  return { make, discard };
}
