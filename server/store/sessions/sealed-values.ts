import type { SandboxId, SessionId } from "@berth/contract";
import type { Db } from "../schema.ts";

// The sealed columns of sessions that are not destroyed, for a change of the master key.
export interface SealedSession {
  id: SessionId;
  sandboxId: SandboxId;
  token: string;
  env: string | null;
  relays: string | null;
}

// Lists sessions in the order of ids, after the id `after`.
export async function listSealedSessions(db: Db, after: string, limit: number): Promise<SealedSession[]> {
  return sealed(db)
    .where("id", ">", after as SessionId)
    .orderBy("id")
    .limit(limit)
    .execute();
}

export async function findSealedSession(db: Db, id: SessionId): Promise<SealedSession | undefined> {
  return sealed(db).where("id", "=", id).executeTakeFirst();
}

// The oldest and the newest live session: enough to know whether the master key decrypts the stored values.
export async function oldestAndNewestSealed(db: Db): Promise<SealedSession[]> {
  const live = sealed(db).where("destroyed_at", "is", null).limit(1);
  return [...(await live.orderBy("created_at", "asc").execute()), ...(await live.orderBy("created_at", "desc").execute())];
}

// False: the server has changed the values since they were read.
export async function replaceSealedValues(
  db: Db,
  was: SealedSession,
  next: Pick<SealedSession, "token" | "env" | "relays">,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("sessions")
    .set({ token: next.token, env: next.env, relays: next.relays })
    .where("id", "=", was.id)
    .where("token", "=", was.token)
    .where("env", was.env === null ? "is" : "=", was.env)
    .where("relays", was.relays === null ? "is" : "=", was.relays)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

const sealed = (db: Db) =>
  db.selectFrom("sessions").select(["id", "sandbox_id as sandboxId", "token", "env", "relays"]).where("token", "!=", "");
