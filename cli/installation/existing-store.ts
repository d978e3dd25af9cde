import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@berth/server/config/config.ts";
import { silentLog } from "@berth/server/log.ts";
import { schemaVersion } from "@berth/server/store/migrations/migrate.ts";
import { openStore, type Store } from "@berth/server/store/open.ts";
import { STORE_FILE } from "./settings.ts";

// Opens the store of an installation without migrating it; null if there is none. Only `berth serve` creates one, because another
// command in the wrong folder would otherwise succeed on an empty store.
export async function findStore(config: Config): Promise<Store | null> {
  const options = storeOptions(config);
  if (!options.url && !existsSync(options.file)) return null;
  const store = await openStore({ ...options, migrate: false });
  if ((await schemaVersion(store)) > 0) return store;
  await store[Symbol.asyncDispose]();
  return null;
}

// Opens the store of an installation, with the current schema. Rejects with a sentence that says where it looked.
export async function openExistingStore(config: Config): Promise<Store> {
  const found = await findStore(config);
  if (!found)
    throw new Error(
      config.databaseUrl
        ? "The database that BERTH_DATABASE_URL names holds no installation of Berth. Set it to the database of yours, or create one with: berth serve"
        : `There is no installation of Berth in ${config.dataDir}. Set BERTH_DATA_DIR to the data folder of yours, or create one with: berth serve`,
    );
  await found[Symbol.asyncDispose]();
  return openStore(storeOptions(config));
}

const storeOptions = (config: Config) => ({ url: config.databaseUrl, file: join(config.dataDir, STORE_FILE), log: silentLog });
