import { AppError, type SessionId, type VolumeMount } from "@berth/contract";
import { lockPartner } from "../../store/partners/partners.ts";
import type { Db } from "../../store/schema.ts";
import { isAtSite, type Site } from "../../store/sessions/session.ts";
import type { MountedVolume } from "../../store/tables/volume-tables.ts";
import { bindVolume, insertUses, usesOf, volumesOf } from "../../store/volumes/volumes.ts";

export interface VolumeClaim {
  partnerId: string;
  sessionId: SessionId;
  site: Site;
  mounts: readonly VolumeMount[];
}

// Claims volumes for a new session, in the transaction that inserts its row. The claims last until the session is destroyed: a
// hibernated one expects its volumes when it is resumed.
export async function claimVolumes(tx: Db, { partnerId, sessionId, site, mounts }: VolumeClaim): Promise<MountedVolume[] | null> {
  if (mounts.length === 0) return null;
  // Two creates, or a create and a deletion, run one after the other.
  await lockPartner(tx, partnerId);
  const volumes = new Map((await volumesOf(tx, partnerId)).map((volume) => [volume.name, volume]));
  const claimed = mounts.map((mount, i) => {
    const volume = volumes.get(mount.name);
    if (!volume)
      throw new AppError("validation_failed", {
        details: [{ field: `volumes.${i}.name`, message: `You have no volume with the name ${mount.name}` }],
      });
    if (volume.site && !isAtSite({ site: volume.site }, site))
      throw new AppError("session_elsewhere", { message: `The volume ${mount.name} is on another machine; create the session there` });
    return { id: volume.id, sizeMb: volume.sizeMb, ...mount };
  });
  const uses = await usesOf(
    tx,
    claimed.map(({ id }) => id),
  );
  for (const { id, name, mode } of claimed) {
    const writer = mode === "rw" && uses.find((use) => use.volumeId === id && use.mode === "rw");
    if (writer)
      throw new AppError("volume_in_use", { message: `The session ${writer.sessionId} uses the volume ${name} for writing; mount it ro` });
  }
  for (const { id, name } of claimed) if (volumes.get(name)?.site === null) await bindVolume(tx, id, site);
  await insertUses(
    tx,
    claimed.map(({ id, mode }) => ({ volumeId: id, sessionId, mode })),
  );
  return claimed;
}
