import type { Selectable } from "kysely";
import type { SnapshotId } from "@berth/contract";
import type { Db } from "../schema.ts";
import type { Site } from "../sessions/session.ts";
import type { SnapshotsTable } from "../tables/snapshot-table.ts";

export interface StoredSnapshot {
  id: SnapshotId;
  // null: the operator's.
  partnerId: string | null;
  sessionId: string;
  purpose: SnapshotsTable["purpose"];
  state: SnapshotsTable["state"];
  name: string;
  template: string;
  // The image of the repository that the session ran in; null if it was the template's.
  image: string | null;
  site: Site;
  bytes: number | null;
  leaseUntilMs: number | null;
  createdAtMs: number;
}

export const parseSnapshot = (row: Selectable<SnapshotsTable>): StoredSnapshot => ({
  id: row.id,
  partnerId: row.partner_id,
  sessionId: row.session_id,
  purpose: row.purpose,
  state: row.state,
  name: row.name,
  template: row.template,
  image: row.image,
  site: { driver: row.driver, host: row.host },
  bytes: row.bytes === null ? null : Number(row.bytes),
  leaseUntilMs: row.lease_until,
  createdAtMs: row.created_at,
});

export async function findSnapshot(db: Db, id: SnapshotId): Promise<StoredSnapshot | null> {
  const row = await db.selectFrom("snapshots").selectAll().where("id", "=", id).executeTakeFirst();
  return row ? parseSnapshot(row) : null;
}

export interface SnapshotFilter {
  // Absent: of all partners, and of the operator.
  partnerId?: string;
  sessionId?: string;
  limit: number;
  after?: { createdAt: number; id: string };
}

// Newest first, without those that are being deleted and those of a fork.
export async function listSnapshots(db: Db, { partnerId, sessionId, limit, after }: SnapshotFilter): Promise<StoredSnapshot[]> {
  let select = db
    .selectFrom("snapshots")
    .selectAll()
    .where("purpose", "=", "keep")
    .where("state", "!=", "deleting")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);
  if (partnerId !== undefined) select = select.where("partner_id", "=", partnerId);
  if (sessionId !== undefined) select = select.where("session_id", "=", sessionId);
  if (after) {
    const { createdAt, id } = after;
    select = select
      .where("created_at", "<=", createdAt)
      .where((row) => row.or([row("created_at", "<", createdAt), row("id", "<", id as SnapshotId)]));
  }
  return (await select.execute()).map(parseSnapshot);
}

// A partner's snapshots and their bytes, including those that are still being created or deleted. null: of all partners, and of the
// operator.
export async function snapshotUse(db: Db, partnerId: string | null): Promise<{ count: number; bytes: number }> {
  let select = db
    .selectFrom("snapshots")
    .select(({ fn }) => [fn.countAll().as("count"), fn.sum("bytes").as("bytes")])
    .where("purpose", "=", "keep");
  if (partnerId !== null) select = select.where("partner_id", "=", partnerId);
  const { count, bytes } = await select.executeTakeFirstOrThrow();
  return { count: Number(count), bytes: Number(bytes ?? 0) };
}

// The ids of all snapshots of a site, in every state.
export async function snapshotIdsAt(db: Db, site: Site): Promise<Set<string>> {
  const rows = await snapshotsAt(db, site).select("id").execute();
  return new Set(rows.map(({ id }) => id));
}

export interface AbandonedOptions {
  nowMs: number;
  // Also those with an unexpired lease of another process of this site, which is known to be dead.
  onlyOwnerAlive?: string | undefined;
}

// Snapshots whose server has died while it worked on them.
export async function abandonedSnapshots(db: Db, site: Site, { nowMs, onlyOwnerAlive }: AbandonedOptions): Promise<StoredSnapshot[]> {
  const rows = await snapshotsAt(db, site)
    .selectAll()
    .where("lease_until", "is not", null)
    .where((row) =>
      row.or([row("lease_until", "<=", nowMs), ...(onlyOwnerAlive === undefined ? [] : [row("lease_owner", "!=", onlyOwnerAlive)])]),
    )
    .execute();
  return rows.map(parseSnapshot);
}

// Partners' snapshots that are older than their retention.
export async function snapshotsTakenBefore(db: Db, site: Site, beforeMs: number, limit: number): Promise<StoredSnapshot[]> {
  const rows = await keptAt(db, site, beforeMs).selectAll().orderBy("created_at").limit(limit).execute();
  return rows.map(parseSnapshot);
}

export async function countTakenBefore(db: Db, site: Site, beforeMs: number): Promise<number> {
  const { count } = await keptAt(db, site, beforeMs)
    .select(({ fn }) => fn.countAll().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

const keptAt = (db: Db, site: Site, beforeMs: number) =>
  snapshotsAt(db, site)
    .where("state", "=", "ready")
    .where("purpose", "=", "keep")
    .where("partner_id", "is not", null)
    .where("created_at", "<", beforeMs);

const snapshotsAt = (db: Db, { driver, host }: Site) => db.selectFrom("snapshots").where(({ and }) => and({ driver, host }));
