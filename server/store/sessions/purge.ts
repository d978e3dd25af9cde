import type { Db } from "../schema.ts";

// Deletes the rows of destroyed sessions, with their runs, tokens and logs: the triggers `purge` and `delete_partner` of sessions/states/states.ts. Returns
// how many.
export async function purgeSessions(db: Db, which: { destroyedBeforeMs: number } | { partnerId: string }, limit: number): Promise<number> {
  const destroyed = db.selectFrom("sessions").select("id").where("state", "=", "destroyed").limit(limit);
  const found = await (
    "partnerId" in which
      ? destroyed.where("partner_id", "=", which.partnerId)
      : destroyed.where("destroyed_at", "<=", which.destroyedBeforeMs)
  ).execute();
  if (found.length === 0) return 0;
  const ids = found.map(({ id }) => id);
  await db.deleteFrom("openings").where("session_id", "in", ids).execute();
  await db.deleteFrom("egress_hosts").where("session_id", "in", ids).execute();
  await db.deleteFrom("runs").where("session_id", "in", ids).execute();
  await db.deleteFrom("session_tokens").where("session_id", "in", ids).execute();
  // Calls with the tokens of a session are counted for the session.
  await db.deleteFrom("rate_buckets").where("key_id", "in", ids).execute();
  await db.deleteFrom("sessions").where("id", "in", ids).where("state", "=", "destroyed").execute();
  return found.length;
}
