import { join } from "node:path";
import { ConfigError, type Config } from "../config/config.ts";
import { MASTER_KEY_FILE } from "../secrets/master-key.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Db } from "../store/schema.ts";
import { oldestAndNewestSealed } from "../store/sessions/sealed-values.ts";

// A wrong key would go unnoticed until a session is resumed, so the server checks it at start.
export async function checkMasterKey(db: Db, secrets: Secrets, config: Pick<Config, "masterKeys" | "dataDir">): Promise<void> {
  for (const { token, sandboxId } of await oldestAndNewestSealed(db))
    if (!opens(secrets, token, sandboxId)) throw new ConfigError([wrongKey(config)]);
}

const wrongKey = ({ masterKeys, dataDir }: Pick<Config, "masterKeys" | "dataDir">) =>
  masterKeys
    ? "BERTH_MASTER_KEY does not open what is stored; allowed: the key that it was stored with, also as a second one after a new one."
    : `The master key ${join(dataDir, MASTER_KEY_FILE)} does not open what is stored, so it is not the key of this store. Restore both from the same backup, or set BERTH_MASTER_KEY to the key that the store was used with.`;

function opens(secrets: Secrets, sealed: string, context: string): boolean {
  try {
    secrets.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
