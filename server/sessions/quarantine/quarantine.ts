import type { SandboxId, SnapshotId, VolumeId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { addQuarantined, listQuarantined, takeQuarantined, type Quarantined, type QuarantineKind } from "../../store/quarantine.ts";
import type { Db } from "../../store/schema.ts";
import { findSandboxOwner } from "../../store/sessions/read.ts";
import type { Site } from "../../store/sessions/session.ts";
import { findSnapshot } from "../../store/snapshots/read.ts";
import { knownVolumes } from "../../store/volumes/volumes.ts";
import type { SandboxEgress } from "../steps/step-actions.ts";
import type { SessionRecords } from "./session-records.ts";

// Keeps the files of sandboxes, snapshots and volumes whose row is missing. They stay where they are: if the right store comes back,
// it finds them. Only the end of their time deletes them.
export interface Quarantine {
  // Stops the sandbox first.
  addSandbox(id: SandboxId): Promise<void>;
  // Returns the ids that are new in quarantine.
  addAll(kind: "snapshot" | "volume", ids: readonly string[]): Promise<string[]>;
  // Deletes the files whose time is over. Those that have an owner again are only let go.
  removeExpired(): Promise<void>;
}

export interface QuarantineDeps {
  store: Store;
  driver: Pick<Driver, "hibernate" | "destroy" | "deleteSnapshot" | "volumes">;
  egress: Pick<SandboxEgress, "close">;
  records: Pick<SessionRecords, "read" | "forget">;
  site: Site;
  quarantineMs: number;
  clock: Clock;
  log: Log;
}

const STOP_TIMEOUT_MS = MINUTE;
const DELETE_TIMEOUT_MS = 5 * MINUTE;

export function createQuarantine({ store, driver, egress, records, site, quarantineMs, clock, log }: QuarantineDeps): Quarantine {
  async function add(kind: QuarantineKind, id: string, session: string | null): Promise<boolean> {
    const foundAtMs = clock.now();
    const entry = { kind, id, site, session, foundAtMs, deleteAtMs: foundAtMs + quarantineMs };
    const isNew = await store.transaction(async (tx) => !(await hasOwner(tx, entry)) && addQuarantined(tx, entry));
    if (isNew) log.warn("quarantine.added", { kind, id, deleteAt: new Date(entry.deleteAtMs).toISOString() });
    return isNew;
  }

  async function removeExpired(): Promise<void> {
    const entries = await listQuarantined(store.db, site);
    for (const { kind, id } of entries.filter(({ deleteAtMs }) => deleteAtMs <= clock.now())) {
      // Of a recovery and this, one takes the row. If this process dies before the files are gone, they are found as new ones.
      const taken = await store.transaction(async (tx) => {
        const entry = await takeQuarantined(tx, kind, id);
        return entry && !(await hasOwner(tx, entry)) ? entry : null;
      });
      if (!taken) continue;
      log.warn("quarantine.expired", { kind, id, foundAt: new Date(taken.foundAtMs).toISOString() });
      await remove(taken).catch((error: unknown) => log.error("quarantine.remove_failed", { kind, id, error: String(error) }));
    }
  }

  async function remove({ kind, id }: Quarantined): Promise<void> {
    const signal = AbortSignal.timeout(DELETE_TIMEOUT_MS);
    if (kind === "snapshot") return driver.deleteSnapshot(id as SnapshotId, signal);
    if (kind === "volume") return driver.volumes?.remove(id as VolumeId, signal);
    await driver.destroy(id as SandboxId, signal);
    await records.forget(id as SandboxId);
  }

  return {
    async addSandbox(id) {
      // It may be in quarantine already, and run because another store has started it since.
      const isOwned = await store.transaction(async (tx) => {
        await takeQuarantined(tx, "sandbox", id);
        return hasOwner(tx, { kind: "sandbox", id });
      });
      if (isOwned) return;
      await driver.hibernate(id, AbortSignal.timeout(STOP_TIMEOUT_MS));
      await egress.close(id);
      // Last, because it can be recovered and resumed from now on.
      await add("sandbox", id, await records.read(id));
    },
    async addAll(kind, ids) {
      const added: string[] = [];
      for (const id of ids) if (await add(kind, id, null)) added.push(id);
      return added;
    },
    removeExpired,
  };
}

async function hasOwner(db: Db, { kind, id }: Pick<Quarantined, "kind" | "id">): Promise<boolean> {
  if (kind === "sandbox") return (await findSandboxOwner(db, id as SandboxId)) !== undefined;
  if (kind === "snapshot") return (await findSnapshot(db, id as SnapshotId)) !== null;
  return (await knownVolumes(db, [id as VolumeId])).size > 0;
}
