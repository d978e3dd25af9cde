import { ConfigError } from "../config/config.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Db } from "../store/schema.ts";

// A wrong key would go unnoticed until somebody resumes a session, so the start looks at the oldest and the newest that
// live.
export async function checkMasterKey(db: Db, secrets: Secrets): Promise<void> {
  for (const direction of ["asc", "desc"] as const) {
    const living = db.selectFrom("sessions").select(["token", "sandbox_id"]).where("destroyed_at", "is", null).where("token", "!=", "");
    const row = await living.orderBy("created_at", direction).limit(1).executeTakeFirst();
    if (row && !opens(secrets, row.token, row.sandbox_id))
      throw new ConfigError([
        "BERTH_MASTER_KEY does not open what is stored; allowed: the key that it was stored with, also as a second one after a new one.",
      ]);
  }
}

function opens(secrets: Secrets, sealed: string, context: string): boolean {
  try {
    secrets.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
