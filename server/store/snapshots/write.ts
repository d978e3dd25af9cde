import type { SnapshotId } from "@berth/contract";
import type { Db } from "../schema.ts";
import type { Site, Lease } from "../sessions/session.ts";
import { parseSnapshot, type StoredSnapshot } from "./read.ts";

// Every statement that writes a snapshot's row: `creating`, then `ready`, then `deleting`, then no row. A row exists before its files
// and until they are gone.

export interface NewSnapshot {
  id: SnapshotId;
  partnerId: string;
  sessionId: string;
  purpose: StoredSnapshot["purpose"];
  name: string;
  template: string;
  image?: string | null;
  site: Site;
  lease: Lease;
  nowMs: number;
}

export async function insertSnapshot(db: Db, { site, lease, nowMs, ...snapshot }: NewSnapshot): Promise<void> {
  await db
    .insertInto("snapshots")
    .values({
      id: snapshot.id,
      partner_id: snapshot.partnerId,
      session_id: snapshot.sessionId,
      purpose: snapshot.purpose,
      state: "creating",
      name: snapshot.name,
      template: snapshot.template,
      image: snapshot.image ?? null,
      driver: site.driver,
      host: site.host,
      bytes: null,
      lease_owner: lease.owner,
      lease_until: lease.untilMs,
      created_at: nowMs,
    })
    .execute();
}

// null: another server has taken it over. A fork keeps its lease, because it is deleted when its server dies.
export async function finishSnapshot(db: Db, id: SnapshotId, owner: string, bytes: number | null): Promise<StoredSnapshot | null> {
  const row = await db
    .updateTable("snapshots")
    .set(({ eb, ref }) => ({
      state: "ready" as const,
      bytes,
      lease_owner: eb.case().when("purpose", "=", "fork").then(ref("lease_owner")).else(null).end(),
      lease_until: eb.case().when("purpose", "=", "fork").then(ref("lease_until")).else(null).end(),
    }))
    .where("id", "=", id)
    .where("state", "=", "creating")
    .where("lease_owner", "=", owner)
    .returningAll()
    .executeTakeFirst();
  return row ? parseSnapshot(row) : null;
}

// Takes a snapshot over to delete it. False: it has changed since it was read.
export async function beginDeletion(db: Db, seen: StoredSnapshot, lease: Lease): Promise<boolean> {
  const row = await db
    .updateTable("snapshots")
    .set({ state: "deleting", lease_owner: lease.owner, lease_until: lease.untilMs })
    .where("id", "=", seen.id)
    .where("state", "=", seen.state)
    .where("lease_until", seen.leaseUntilMs === null ? "is" : "=", seen.leaseUntilMs)
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

// True: the row was there.
export async function removeSnapshot(db: Db, id: SnapshotId): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom("snapshots").where("id", "=", id).executeTakeFirst();
  return numDeletedRows === 1n;
}

// Ends the lease, so that any server may delete the snapshot at once.
export async function releaseSnapshot(db: Db, id: SnapshotId): Promise<void> {
  await db.updateTable("snapshots").set({ lease_until: 0 }).where("id", "=", id).execute();
}

// Makes a partner's snapshot the operator's, so that templates may name it and the partner cannot delete it. False: there is no such
// snapshot, or it is not ready.
export async function adoptSnapshot(db: Db, id: SnapshotId): Promise<boolean> {
  const row = await db
    .updateTable("snapshots")
    .set({ partner_id: null })
    .where("id", "=", id)
    .where("state", "=", "ready")
    .where("purpose", "=", "keep")
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

// Lets a server delete all snapshots of a partner that is being deleted.
export async function abandonSnapshotsOf(db: Db, partnerId: string): Promise<void> {
  await db
    .updateTable("snapshots")
    .set({ partner_id: null, state: "deleting", lease_owner: "", lease_until: 0 })
    .where("partner_id", "=", partnerId)
    .execute();
}
