import type { Selectable } from "kysely";
import type { SessionId, VolumeId, VolumeMode } from "@berth/contract";
import type { Db } from "../schema.ts";
import type { Site } from "../sessions/session.ts";
import type { VolumesTable } from "../tables/volume-tables.ts";

export interface StoredVolume {
  id: VolumeId;
  partnerId: string;
  name: string;
  sizeMb: number;
  // null: no session has used it yet, so it has no files.
  site: Site | null;
  createdAtMs: number;
}

export interface VolumeUse {
  volumeId: VolumeId;
  sessionId: SessionId;
  mode: VolumeMode;
}

export async function insertVolume(db: Db, { id, partnerId, name, sizeMb, createdAtMs }: Omit<StoredVolume, "site">): Promise<void> {
  const row = {
    id,
    partner_id: partnerId,
    name,
    size_mb: sizeMb,
    state: "ready" as const,
    driver: null,
    host: null,
    created_at: createdAtMs,
  };
  await db.insertInto("volumes").values(row).execute();
}

// Decides where the files of a volume are.
export async function bindVolume(db: Db, id: VolumeId, { driver, host }: Site): Promise<void> {
  await db.updateTable("volumes").set({ driver, host }).where("id", "=", id).execute();
}

// Oldest first, without those that are being deleted.
export async function volumesOf(db: Db, partnerId: string): Promise<StoredVolume[]> {
  const rows = await readyVolumes(db).where("partner_id", "=", partnerId).execute();
  return rows.map(parseVolume);
}

// The volumes of all partners.
export async function allVolumes(db: Db): Promise<StoredVolume[]> {
  return (await readyVolumes(db).execute()).map(parseVolume);
}

const readyVolumes = (db: Db) => db.selectFrom("volumes").selectAll().where("state", "=", "ready").orderBy("created_at").orderBy("id");

// The claims that count.
export async function usesOf(db: Db, volumeIds: readonly VolumeId[]): Promise<VolumeUse[]> {
  if (volumeIds.length === 0) return [];
  return db
    .selectFrom("volume_mounts")
    .innerJoin("sessions", "sessions.id", "volume_mounts.session_id")
    .select(["volume_mounts.volume_id as volumeId", "volume_mounts.session_id as sessionId", "volume_mounts.mode"])
    .where("volume_mounts.volume_id", "in", volumeIds)
    .where("sessions.state", "!=", "destroyed")
    .orderBy("volume_mounts.session_id")
    .execute();
}

// Also removes the claims on these volumes that no longer count.
export async function insertUses(db: Db, uses: readonly VolumeUse[]): Promise<void> {
  const live = db.selectFrom("sessions").select("id").where("state", "!=", "destroyed");
  const ids = uses.map(({ volumeId }) => volumeId);
  await db.deleteFrom("volume_mounts").where("volume_id", "in", ids).where("session_id", "not in", live).execute();
  const rows = uses.map(({ volumeId, sessionId, mode }) => ({ volume_id: volumeId, session_id: sessionId, mode }));
  await db.insertInto("volume_mounts").values(rows).execute();
}

export async function markDeleting(db: Db, id: VolumeId): Promise<void> {
  await db.updateTable("volumes").set({ state: "deleting" }).where("id", "=", id).execute();
}

export async function deleteVolumeRow(db: Db, id: VolumeId): Promise<void> {
  await db.deleteFrom("volume_mounts").where("volume_id", "=", id).execute();
  await db.deleteFrom("volumes").where("id", "=", id).execute();
}

// Volumes at this site whose deletion has not ended.
export async function deletingVolumes(db: Db, { driver, host }: Site): Promise<VolumeId[]> {
  const rows = await db
    .selectFrom("volumes")
    .select("id")
    .where("state", "=", "deleting")
    .where(({ and }) => and({ driver, host }))
    .execute();
  return rows.map(({ id }) => id);
}

// Those of `ids` that have a row.
export async function knownVolumes(db: Db, ids: readonly VolumeId[]): Promise<Set<VolumeId>> {
  if (ids.length === 0) return new Set();
  const rows = await db.selectFrom("volumes").select("id").where("id", "in", ids).execute();
  return new Set(rows.map(({ id }) => id));
}

const parseVolume = (row: Selectable<VolumesTable>): StoredVolume => ({
  id: row.id,
  partnerId: row.partner_id,
  name: row.name,
  sizeMb: row.size_mb,
  site: row.driver === null ? null : { driver: row.driver, host: row.host },
  createdAtMs: row.created_at,
});
