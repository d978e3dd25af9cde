import { AppError, type CreateVolume } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Store } from "../../store/open.ts";
import { lockPartner } from "../../store/partners/partners.ts";
import type { Db } from "../../store/schema.ts";
import { isAtSite, type Site } from "../../store/sessions/session.ts";
import { deleteVolumeRow, volumesOf } from "../../store/volumes/volumes.ts";
import { unsupported } from "./mounts.ts";
import { beginRemoval, createVolume, viewVolumes, type VolumeLimits, type VolumeView } from "./volume-changes.ts";

// The volumes of a partner, as the partner manages them. Another partner's volume is not found.
export interface Volumes {
  create(partnerId: string, volume: CreateVolume, record: RecordVolume): Promise<VolumeView>;
  list(partnerId: string): Promise<VolumeView[]>;
  get(partnerId: string, id: string): Promise<VolumeView>;
  // Deletes the volume with its files. If that is interrupted, reconciliation finishes it.
  remove(partnerId: string, id: string, record: RecordVolume): Promise<VolumeView>;
}

// Runs in the transaction of the change.
export type RecordVolume = (tx: Db, volume: VolumeView) => Promise<void>;

export interface VolumesDeps {
  store: Store;
  driver: Pick<Driver, "name" | "volumes">;
  site: Site;
  clock: Clock;
  limits: VolumeLimits;
}

const REMOVE_TIMEOUT_MS = 30_000;

export function createVolumes({ store, driver, site, clock, limits }: VolumesDeps): Volumes {
  const list = async (db: Db, partnerId: string) => viewVolumes(db, await volumesOf(db, partnerId));

  async function find(db: Db, partnerId: string, id: string): Promise<VolumeView> {
    const found = (await list(db, partnerId)).find((volume) => volume.id === id);
    if (!found) throw new AppError("volume_not_found");
    return found;
  }

  return {
    list: (partnerId) => list(store.db, partnerId),
    get: (partnerId, id) => find(store.db, partnerId, id),

    async create(partnerId, volume, record) {
      if (!driver.volumes) throw new AppError("volumes_unsupported", { message: unsupported(driver) });
      return store.transaction(async (tx) => {
        const created = await createVolume(tx, { partnerId, volume, limits, nowMs: clock.now() });
        await record(tx, created);
        return created;
      });
    },

    async remove(partnerId, id, record) {
      const removed = await store.transaction(async (tx) => {
        await lockPartner(tx, partnerId);
        const volume = await find(tx, partnerId, id);
        if (volume.site && !isAtSite({ site: volume.site }, site))
          throw new AppError("session_elsewhere", { message: "The volume is on another machine" });
        await beginRemoval(tx, volume);
        await record(tx, volume);
        return volume;
      });
      failpoint("volume.deleting");
      await driver.volumes?.remove(removed.id, AbortSignal.timeout(REMOVE_TIMEOUT_MS));
      failpoint("volume.removed");
      await deleteVolumeRow(store.db, removed.id);
      return removed;
    },
  };
}
