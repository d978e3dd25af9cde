import { AppError, newId, VOLUME_SIZE_MB, type CreateVolume, type SessionId, type VolumeId, type VolumeMode } from "@berth/contract";
import { lockPartner } from "../../store/partners/partners.ts";
import type { Db } from "../../store/schema.ts";
import type { Site } from "../../store/sessions/session.ts";
import { deleteVolumeRow, insertVolume, markDeleting, usesOf, volumesOf, type StoredVolume } from "../../store/volumes/volumes.ts";

// Changes of volumes in the caller's transaction, for the API and for the command line.

export interface VolumeView {
  id: VolumeId;
  partnerId: string;
  name: string;
  sizeMb: number;
  createdAtMs: number;
  site: Site | null;
  usedBy: { sessionId: SessionId; mode: VolumeMode }[];
}

// The limits of each partner.
export interface VolumeLimits {
  volumes: number;
  volumesMb: number;
}

export interface NewVolume {
  partnerId: string;
  volume: CreateVolume;
  limits: VolumeLimits;
  nowMs: number;
}

// Only writes the row: the driver creates the volume when a session mounts it for the first time.
export async function createVolume(tx: Db, { partnerId, volume, limits, nowMs }: NewVolume): Promise<VolumeView> {
  const { name, sizeMb = VOLUME_SIZE_MB.default } = volume;
  await lockPartner(tx, partnerId);
  const others = await volumesOf(tx, partnerId);
  if (others.some((other) => other.name === name)) throw new AppError("volume_exists");
  requireRoom(limits, others, sizeMb);
  const made = { id: newId("vol", nowMs), partnerId, name, sizeMb, createdAtMs: nowMs };
  await insertVolume(tx, made);
  return { ...made, site: null, usedBy: [] };
}

// Hides the volume. Its files are deleted afterwards, and then its row. A volume without files is gone at once.
export async function beginRemoval(tx: Db, { id, site, usedBy }: VolumeView): Promise<void> {
  if (usedBy.length > 0) throw new AppError("volume_in_use", { message: inUse(usedBy.map(({ sessionId }) => sessionId)) });
  await (site ? markDeleting(tx, id) : deleteVolumeRow(tx, id));
}

export async function viewVolumes(db: Db, volumes: readonly StoredVolume[]): Promise<VolumeView[]> {
  const uses = await usesOf(
    db,
    volumes.map(({ id }) => id),
  );
  return volumes.map((volume) => ({
    ...volume,
    usedBy: uses.filter(({ volumeId }) => volumeId === volume.id).map(({ sessionId, mode }) => ({ sessionId, mode })),
  }));
}

function requireRoom({ volumes, volumesMb }: VolumeLimits, others: readonly StoredVolume[], sizeMb: number): void {
  if (others.length >= volumes) throw new AppError("volume_quota", { message: `The limit of ${volumes} volumes is reached` });
  const usedMb = others.reduce((sum, other) => sum + other.sizeMb, 0);
  if (usedMb + sizeMb > volumesMb)
    throw new AppError("volume_quota", { message: `Your volumes may have ${volumesMb} MiB in total, and already have ${usedMb} MiB` });
}

const inUse = ([first, ...others]: readonly SessionId[]): string =>
  `The session ${first}${others.length === 0 ? " uses" : ` and ${others.length} more use`} this volume; destroy ${others.length === 0 ? "it" : "them"} first`;
