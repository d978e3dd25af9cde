import type { Driver } from "../../drivers/driver.ts";
import type { Store } from "../../store/open.ts";
import { sessionsInState } from "../../store/sessions/read.ts";
import type { Site } from "../../store/sessions/session.ts";
import type { SessionRecords } from "./session-records.ts";

export interface CompleteRecordsDeps {
  store: Store;
  driver: Pick<Driver, "list">;
  records: SessionRecords;
  site: Site;
}

const LIST_TIMEOUT_MS = 20_000;

// Writes the records that a crash, an upgrade or a restored store left out, and forgets those of sandboxes that are gone. The
// records are listed first: a sandbox that is created in the meantime has none yet.
export async function completeRecords({ store, driver, records, site }: CompleteRecordsDeps): Promise<void> {
  const recorded = await records.list();
  const existing = new Set((await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS))).map(({ id }) => id));
  for (const id of recorded) if (!existing.has(id)) await records.forget(id);
  for (const session of await sessionsInState(store.db, site, ["running", "paused"]))
    if (existing.has(session.sandboxId)) records.note(session);
}
