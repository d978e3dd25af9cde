import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/open.ts";
import type { Db } from "../store/schema.ts";
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

// The first start makes a partner to try the service with, and gives its key, to be shown once. Later starts give null.
// A key that the operator sets (BERTH_API_KEY) is made sure of at every start, unless it was revoked.
export async function seedDemo({ store, clock, config }: SeedDeps): Promise<{ partnerId: string; key: string; file: string } | null> {
  const key = config.apiKey ?? newKey();
  const file = join(config.dataDir, DEMO_KEY_FILE);
  return store.transaction(async (tx) => {
    if (config.apiKey ? await isKnown(tx, key) : await hasPartners(tx)) return null;
    const made = await insertDemo(tx, clock);
    // Another server was faster, and its key is the one to use.
    if (!made && !config.apiKey) return null;
    // Servers that start at the same moment with the same key go one after the other from here.
    if (!made) await lockDemo(tx);
    if (!made && (await isKnown(tx, key))) return null;
    await issueKey(tx, clock, DEMO_PARTNER, { key });
    // Before the commit: a key that is in the database but nowhere else would be lost.
    await writePrivateFile(file, `${key}\n`);
    return { partnerId: DEMO_PARTNER, key, file };
  });
}

const hasPartners = async (db: Db) => (await db.selectFrom("partners").select("id").limit(1).executeTakeFirst()) !== undefined;

const isKnown = async (db: Db, key: string) =>
  (await db.selectFrom("keys").select("id").where("hash", "=", hashKey(key)).executeTakeFirst()) !== undefined;

const lockDemo = (db: Db) => db.updateTable("partners").set({ id: DEMO_PARTNER }).where("id", "=", DEMO_PARTNER).execute();

async function insertDemo(db: Db, clock: Clock): Promise<boolean> {
  const row = { id: DEMO_PARTNER, name: DEMO_PARTNER, state: "active" as const, origins: "[]", created_at: clock.now() };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("partners")
    .values({ ...row, max_sessions: null, max_sessions_per_user: null, rate_per_minute: null })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}
