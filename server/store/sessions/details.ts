import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import type { Db } from "../schema.ts";
import { parseRules, type SessionRules } from "./rules.ts";
import { parseSetup, type SessionSetup } from "./session-setup.ts";
import type { SessionRow } from "./parse-session.ts";
import { statusOf, type Site, type SessionState } from "./session.ts";

// Everything that an operator may see of a session, in whatever state it is.
export interface SessionDetails extends SessionRules {
  id: SessionId;
  sandboxId: SandboxId;
  partnerId: string;
  externalUserId: string | null;
  status: SessionStatus | null;
  state: SessionState;
  generation: number;
  template: string;
  site: Site;
  metadata: Record<string, string>;
  timeoutMs: number;
  idleTimeoutMs: number | null;
  setup: SessionSetup | null;
  isHibernated: boolean;
  stopReason: string | null;
  createdAtMs: number;
  expiresAtMs: number | null;
  idleAtMs: number | null;
  pausedAtMs: number | null;
  destroyedAtMs: number | null;
}

export interface DetailsFilter {
  partnerId?: string;
  // If absent, all sessions except destroyed ones match.
  status?: SessionStatus;
  limit: number;
}

// Newest first.
export async function listSessionDetails(db: Db, { partnerId, status, limit }: DetailsFilter): Promise<SessionDetails[]> {
  let query = ownedRows(db).orderBy("created_at", "desc").orderBy("id", "desc").limit(limit);
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
  id: row.id,
  sandboxId: row.sandbox_id,
  partnerId: row.partner_id ?? "",
  externalUserId: row.external_user_id,
  status: statusOf({ state: row.state, was: row.paused_at === null ? "running" : "paused" }),
  state: row.state,
  generation: row.generation,
  template: row.template,
  site: { driver: row.driver, host: row.host },
  metadata: JSON.parse(row.metadata) as Record<string, string>,
  timeoutMs: row.timeout_ms,
  idleTimeoutMs: row.idle_timeout_ms,
  ...parseRules(row),
  setup: parseSetup(row.setup),
  isHibernated: row.hibernated === 1,
  stopReason: row.stop_reason,
  createdAtMs: row.created_at,
  expiresAtMs: row.expires_at,
  idleAtMs: row.idle_at,
  pausedAtMs: row.paused_at,
  destroyedAtMs: row.destroyed_at,
});
