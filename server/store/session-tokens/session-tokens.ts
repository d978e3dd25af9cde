import type { Selectable } from "kysely";
import type { SandboxId, SessionId, TokenId, TokenScope } from "@berth/contract";
import { parsePartner, type Partner } from "../partners/partners.ts";
import type { Db } from "../schema.ts";
import type { SessionTokensTable } from "../tables/session-token-table.ts";

// A stored token of a session. The token itself is not stored: its signature proves it.
export interface StoredToken {
  id: TokenId;
  partnerId: string;
  sessionId: SessionId;
  name: string;
  scopes: readonly TokenScope[];
  // The only ports; null for all.
  ports: readonly number[] | null;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
}

export async function insertToken(db: Db, token: StoredToken): Promise<void> {
  await db
    .insertInto("session_tokens")
    .values({
      id: token.id,
      partner_id: token.partnerId,
      session_id: token.sessionId,
      name: token.name,
      scopes: JSON.stringify(token.scopes),
      ports: token.ports && JSON.stringify(token.ports),
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      revoked_at: token.revokedAt,
    })
    .execute();
}

// Oldest first.
export async function tokensOf(db: Db, sessionId: SessionId): Promise<StoredToken[]> {
  const rows = await db.selectFrom("session_tokens").selectAll().where("session_id", "=", sessionId).orderBy("id").execute();
  return rows.map(parseToken);
}

// Keeps the time of the first revocation.
export async function setTokenRevoked(db: Db, id: TokenId, revokedAt: number): Promise<void> {
  await db.updateTable("session_tokens").set({ revoked_at: revokedAt }).where("id", "=", id).where("revoked_at", "is", null).execute();
}

export async function deleteTokens(db: Db, ids: readonly TokenId[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom("session_tokens").where("id", "in", ids).execute();
}

export interface TokenHolder extends StoredToken {
  sandboxId: SandboxId;
  partner: Partner;
}

// null: there is no such token, or its session is destroyed.
export async function findTokenHolder(db: Db, id: string): Promise<TokenHolder | null> {
  const row = await db
    .selectFrom("session_tokens as token")
    .innerJoin("sessions", "sessions.id", "token.session_id")
    .selectAll("token")
    .select("sessions.sandbox_id as sandboxId")
    .where("token.id", "=", id as TokenId)
    .where("sessions.state", "not in", ["destroying", "destroyed"])
    .executeTakeFirst();
  const partner = row && (await db.selectFrom("partners").selectAll().where("id", "=", row.partner_id).executeTakeFirst());
  return row && partner ? { ...parseToken(row), sandboxId: row.sandboxId, partner: parsePartner(partner) } : null;
}

const parseToken = (row: Selectable<SessionTokensTable>): StoredToken => ({
  id: row.id,
  partnerId: row.partner_id,
  sessionId: row.session_id,
  name: row.name,
  scopes: JSON.parse(row.scopes) as TokenScope[],
  ports: row.ports === null ? null : (JSON.parse(row.ports) as number[]),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});
