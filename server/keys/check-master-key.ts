import { ConfigError } from "../config/config.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Db } from "../store/schema.ts";
import { oldestAndNewestSealed } from "../store/sessions/sealed-values.ts";

// A wrong key would go unnoticed until a session is resumed, so the server checks it at start.
export async function checkMasterKey(db: Db, secrets: Secrets): Promise<void> {
  for (const { token, sandboxId } of await oldestAndNewestSealed(db))
    if (!opens(secrets, token, sandboxId))
      throw new ConfigError([
        "BERTH_MASTER_KEY does not open what is stored; allowed: the key that it was stored with, also as a second one after a new one.",
      ]);
}

function opens(secrets: Secrets, sealed: string, context: string): boolean {
  try {
    secrets.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
