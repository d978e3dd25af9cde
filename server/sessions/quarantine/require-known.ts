import { DAY } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Store } from "../../store/open.ts";
import { listQuarantined } from "../../store/quarantine.ts";
import { ownedAmong } from "../../store/sessions/read.ts";
import type { Site } from "../../store/sessions/session.ts";
import type { SessionRecords } from "./session-records.ts";

export interface RequireKnownDeps {
  store: Store;
  driver: Pick<Driver, "list" | "traits">;
  records: Pick<SessionRecords, "list">;
  site: Site;
  quarantineMs: number;
  // A sentence if the data folder was last used with another store.
  mismatch: string | null;
}

const LIST_TIMEOUT_MS = 20_000;

// Rejects with sentences for the operator if the store does not know most of the sandboxes in use: it is empty, older than they are, or
// another one. A server on it would stop them all.
export async function requireKnownSandboxes({ store, driver, records, site, quarantineMs, mismatch }: RequireKnownDeps): Promise<void> {
  const listed = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
  const ids = listed.filter(({ condition }) => condition !== "absent").map(({ id }) => id);
  const owned = await ownedAmong(store.db, ids);
  const quarantined = new Set((await listQuarantined(store.db, site)).map(({ id }) => id));
  // A power cut may lose the rows of blanks, which are not synced. Only a sandbox that was used has a record. Sandboxes that are not on
  // this machine have none, but the rows of their blanks are synced.
  const used = driver.traits.hostBound ? await records.list() : null;
  const unknown = ids.filter((id) => !owned.has(id) && !quarantined.has(id) && (used === null || used.has(id)));
  if (unknown.length <= owned.size) return;
  throw new Error(
    [
      `The store does not know ${unknown.length} of ${unknown.length + owned.size} sandboxes that were in use, so the server does not start. Their files are kept.`,
      ...(mismatch === null ? [] : [mismatch]),
      "Check BERTH_DATABASE_URL and BERTH_DATA_DIR, or restore the database from a backup.",
      `To start anyway, use \`berth serve --quarantine-unknown\`: unknown sandboxes are stopped and kept for ${quarantineMs / DAY} days, and \`berth session recover\` gives them a session again.`,
    ].join("\n"),
  );
}
