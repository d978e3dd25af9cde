import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { hasKeyWithHash } from "../store/partners/keys.ts";
import type { Store } from "../store/open.ts";
import { ensurePartner, hasPartners, lockPartner } from "../store/partners/partners.ts";
import { writePrivateFile } from "../data-folder/private-file.ts";
import { hashKey, newKey } from "../api-key-format.ts";
import { issueKey } from "./keys.ts";

export const DEMO_PARTNER = "demo";
export const DEMO_KEY_FILE = "demo-api-key";

export interface SeedDeps {
  store: Store;
  clock: Clock;
  config: Pick<Config, "apiKey" | "dataDir">;
}

// The first start creates a partner to try the service with, and returns its key, to be shown once. Later starts return null.
// A key that the operator sets (BERTH_API_KEY) is ensured at every start, unless it was revoked.
export async function seedDemo({ store, clock, config }: SeedDeps): Promise<{ partnerId: string; key: string; file: string } | null> {
  const key = config.apiKey ?? newKey();
  const hash = hashKey(key);
  const file = join(config.dataDir, DEMO_KEY_FILE);
  return store.transaction(async (tx) => {
    if (config.apiKey ? await hasKeyWithHash(tx, hash) : await hasPartners(tx)) return null;
    const isNew = await ensurePartner(tx, { id: DEMO_PARTNER, createdAt: clock.now() });
    // Another server was faster, so its key is the one to use.
    if (!isNew && !config.apiKey) return null;
    // Servers that start at once with the same key take turns from here.
    if (!isNew) await lockPartner(tx, DEMO_PARTNER);
    if (!isNew && (await hasKeyWithHash(tx, hash))) return null;
    await issueKey(tx, clock, DEMO_PARTNER, { key });
    // The file is written before the commit: a key that is only in the database would be lost.
    await writePrivateFile(file, `${key}\n`);
    return { partnerId: DEMO_PARTNER, key, file };
  });
}
