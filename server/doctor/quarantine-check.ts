import type { SandboxId } from "@berth/contract";
import { describeMismatch, readInstallationId } from "../data-folder/installation-id.ts";
import type { Driver } from "../drivers/driver.ts";
import { readInstallationFact } from "../store/facts.ts";
import type { Store } from "../store/open.ts";
import { listQuarantined, type Quarantined } from "../store/quarantine.ts";
import type { Site } from "../store/sessions/session.ts";
import type { Finding } from "./finding.ts";

export interface QuarantineParts {
  store: Store;
  driver: Pick<Driver, "stats">;
  site: Site;
}

const MAX_LISTED = 100;
const STATS_TIMEOUT_MS = 5_000;
const MIB = 2 ** 20;

// How much is in quarantine, and until when it is kept. No finding if it is empty.
export async function checkQuarantine({ store, driver, site }: QuarantineParts): Promise<Finding[]> {
  const entries = await listQuarantined(store.db, site);
  if (entries.length === 0) return [];
  const sizes = await Promise.all(entries.slice(0, MAX_LISTED).map((entry) => sizeOf(driver, entry)));
  const known = sizes.filter((bytes) => bytes !== null);
  const total = known.length > 0 ? `, ${Math.ceil(known.reduce((sum, bytes) => sum + bytes, 0) / MIB)} MiB on disk` : "";
  const topic = "quarantine";
  return [
    {
      topic,
      state: "note",
      text: `${entries.length} without a row in the store${total}; the first is deleted on ${dayOf(Math.min(...entries.map(({ deleteAtMs }) => deleteAtMs)))}.`,
      cure: "`berth session recover` gives a sandbox a session again. If the database was lost, restore it from a backup.",
    },
    ...entries.slice(0, MAX_LISTED).map(({ kind, id, foundAtMs, deleteAtMs }): Finding => ({
      topic,
      state: "note",
      text: `the ${kind} ${id}, found on ${dayOf(foundAtMs)}, kept until ${dayOf(deleteAtMs)}`,
    })),
  ];
}

// Whether the data folder was last used with this store.
export async function checkInstallation(dataDir: string, store: Store): Promise<Finding[]> {
  const storeId = await readInstallationFact(store.db);
  const mismatch = storeId === null ? null : describeMismatch(dataDir, await readInstallationId(dataDir), storeId);
  const cure = "Check BERTH_DATABASE_URL and BERTH_DATA_DIR. If the change was intended, the next start accepts it.";
  return mismatch === null ? [] : [{ topic: "store", state: "note", text: mismatch, cure }];
}

async function sizeOf(driver: Pick<Driver, "stats">, { kind, id }: Quarantined): Promise<number | null> {
  if (kind !== "sandbox") return null;
  const stats = await driver.stats(id as SandboxId, AbortSignal.timeout(STATS_TIMEOUT_MS)).catch(() => null);
  return stats?.diskBytes ?? null;
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
