import type { Db } from "../schema.ts";

export async function deleteSessionLogs(db: Db, sessionIds: readonly string[]): Promise<void> {
  await db.deleteFrom("openings").where("session_id", "in", sessionIds).execute();
  await db.deleteFrom("egress_hosts").where("session_id", "in", sessionIds).execute();
}
