import type { VolumeId } from "@berth/contract";
import type { Driver } from "../../drivers/driver.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import type { Site } from "../../store/sessions/session.ts";
import { deletingVolumes, deleteVolumeRow, knownVolumes } from "../../store/volumes/volumes.ts";

export interface ReconcileVolumesDeps {
  store: Store;
  driver: Pick<Driver, "volumes">;
  quarantine: { addAll(kind: "volume", ids: readonly string[]): Promise<string[]> };
  site: Site;
  log: Log;
  onFound(kind: string): void;
}

const TIMEOUT_MS = 30_000;

// Finishes deletions that a dead server left, and keeps the files of volumes that have no row in quarantine. A volume has its row before it has
// files, so the list comes first.
export function createReconcileVolumes({ store, driver, quarantine, site, log, onFound }: ReconcileVolumesDeps): () => Promise<void> {
  return async () => {
    if (!driver.volumes) return;
    const volumes = driver.volumes;
    const remove = (id: VolumeId) => volumes.remove(id, AbortSignal.timeout(TIMEOUT_MS));
    const existing = await volumes.list(AbortSignal.timeout(TIMEOUT_MS));
    const known = await knownVolumes(store.db, existing);
    const unknown = existing.filter((id) => !known.has(id));
    for (const _ of await quarantine.addAll("volume", unknown)) onFound("volume_orphan");
    for (const id of await deletingVolumes(store.db, site)) {
      onFound("volume_deleting");
      log.warn("reconcile.volume_deleting", { volumeId: id });
      await remove(id);
      await deleteVolumeRow(store.db, id);
    }
  };
}
