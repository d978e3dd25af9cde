import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import type { Db } from "../../schema.ts";
import { pageOf } from "./list.ts";
import type { SessionRow } from "../parse-session.ts";
import type { Site } from "../session.ts";
import { parseViewRow, statusOfRow, type SessionView } from "./view.ts";

// Everything that an operator may see of a session, in whatever state it is.
export interface SessionDetails extends Omit<SessionView, "status"> {
  status: SessionStatus | null;
  site: Site;
  isHibernated: boolean;
  pausedAt: number | null;
  destroyedAt: number | null;
}

export interface DetailsFilter {
  partnerId?: string;
  // If absent, all sessions except destroyed ones match.
  status?: SessionStatus;
  limit: number;
}

// Newest first.
export async function listSessionDetails(db: Db, { partnerId, status, limit }: DetailsFilter): Promise<SessionDetails[]> {
  let query = pageOf(ownedRows(db), undefined, limit);
  if (partnerId !== undefined) query = query.where("partner_id", "=", partnerId);
  query = query.where("state", status === "destroyed" ? "=" : "!=", "destroyed");
  if (status === "running") query = query.where("paused_at", "is", null);
  if (status === "paused") query = query.where("paused_at", "is not", null);
  return (await query.execute()).map(parseDetails);
}

// Finds it by the id of the session or of its sandbox. null: no partner has such a session.
export async function findSessionDetails(db: Db, id: string): Promise<SessionDetails | null> {
  const row = await ownedRows(db)
    .where((w) => w.or([w("id", "=", id as SessionId), w("sandbox_id", "=", id as SandboxId)]))
    .executeTakeFirst();
  return row ? parseDetails(row) : null;
}

const ownedRows = (db: Db) => db.selectFrom("sessions").selectAll().where("partner_id", "is not", null);

const parseDetails = (row: SessionRow): SessionDetails => ({
  ...parseViewRow(row),
  status: statusOfRow(row),
  site: { driver: row.driver, host: row.host },
  isHibernated: row.hibernated === 1,
  pausedAt: row.paused_at,
  destroyedAt: row.destroyed_at,
});
