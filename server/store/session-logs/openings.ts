import type { SessionId } from "@berth/contract";
import type { Db } from "../schema.ts";

// One use of a launch URL.
export interface Opening {
  sessionId: string;
  openedAt: number;
  address: string;
  agent: string;
  role: string | null;
  // The name that the partner gave the person; null for a guest.
  name: string | null;
  // null while a page of it is connected.
  endedAt: number | null;
}

// Only the newest of a session are kept.
export const MAX_OPENINGS = 100;

// Two openings of a session in the same millisecond are one.
export async function insertOpenings(tx: Db, openings: readonly Opening[]): Promise<void> {
  if (openings.length === 0) return;
  await tx
    .insertInto("openings")
    .values(
      openings.map(({ sessionId, openedAt, address, agent, role, name, endedAt }) => ({
        session_id: sessionId,
        opened_at: openedAt,
        address,
        agent,
        role,
        name,
        ended_at: endedAt,
      })),
    )
    .onConflict((conflict) => conflict.columns(["session_id", "opened_at"]).doNothing())
    .execute();
  for (const sessionId of new Set(openings.map((opening) => opening.sessionId))) await deleteOldest(tx, sessionId);
}

async function deleteOldest(tx: Db, sessionId: string): Promise<void> {
  const newest = tx.selectFrom("openings").select("opened_at").where("session_id", "=", sessionId).orderBy("opened_at", "desc");
  const limit = await newest.offset(MAX_OPENINGS).limit(1).executeTakeFirst();
  if (limit) await tx.deleteFrom("openings").where("session_id", "=", sessionId).where("opened_at", "<=", limit.opened_at).execute();
}

export async function setOpeningEnd(tx: Db, { sessionId, openedAt, endedAt }: Pick<Opening, "sessionId" | "openedAt" | "endedAt">) {
  await tx
    .updateTable("openings")
    .set({ ended_at: endedAt })
    .where("session_id", "=", sessionId)
    .where("opened_at", "=", openedAt)
    .execute();
}

// Ends the openings whose server died before it could. Browsers that are still there connect again.
export async function endOpenings(db: Db, site: { driver: string; host: string | null }, nowMs: number): Promise<void> {
  const sessions = db.selectFrom("sessions").select("id").where("driver", "=", site.driver).where("host", "=", site.host);
  await db.updateTable("openings").set({ ended_at: nowMs }).where("ended_at", "is", null).where("session_id", "in", sessions).execute();
}

// A page that ended so recently may just be reloading.
const RECENT_MS = 5_000;

// Whether the operator's support has the workspace open.
export async function hasSupportVisit(db: Db, sessionId: SessionId, nowMs: number): Promise<boolean> {
  const found = await db
    .selectFrom("openings")
    .select("opened_at")
    .where("session_id", "=", sessionId)
    .where("role", "=", "support")
    .where(({ eb, or }) => or([eb("ended_at", "is", null), eb("ended_at", ">", nowMs - RECENT_MS)]))
    .executeTakeFirst();
  return found !== undefined;
}

// Newest first.
export async function openingsOf(db: Db, sessionId: SessionId): Promise<Opening[]> {
  const rows = await db
    .selectFrom("openings")
    .selectAll()
    .where("session_id", "=", sessionId)
    .orderBy("opened_at", "desc")
    .limit(MAX_OPENINGS)
    .execute();
  return rows.map((row) => ({
    sessionId: row.session_id,
    openedAt: row.opened_at,
    address: row.address,
    agent: row.agent,
    role: row.role,
    name: row.name,
    endedAt: row.ended_at,
  }));
}
