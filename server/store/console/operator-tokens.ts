import type { Selectable } from "kysely";
import type { Db } from "../schema.ts";
import type { OperatorTokensTable } from "../tables/console-tables.ts";

// A token with which an operator signs in to the console. The token itself is not stored, only its hash.
export interface StoredOperatorToken {
  id: string;
  hint: string;
  name: string;
  createdAt: number;
  expiresAt: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
}

export async function insertOperatorToken(db: Db, { hash, ...token }: StoredOperatorToken & { hash: string }): Promise<void> {
  const { id, hint, name, createdAt, expiresAt, lastUsedAt, revokedAt } = token;
  await db
    .insertInto("operator_tokens")
    .values({
      id,
      hash,
      hint,
      name,
      created_at: createdAt,
      expires_at: expiresAt,
      last_used_at: lastUsedAt,
      revoked_at: revokedAt,
      oidc_subject: null,
      oidc_rule: null,
    })
    .execute();
}

// The row of a person at an identity provider, which is not revoked.
export async function findIdentity(db: Db, subject: string): Promise<StoredOperatorToken | null> {
  const row = await db
    .selectFrom("operator_tokens")
    .selectAll()
    .where("oidc_subject", "=", subject)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return row ? parseToken(row) : null;
}

export async function setIdentity(
  db: Db,
  id: string,
  { subject, rule, name, expiresAt }: { subject: string; rule: string; name: string; expiresAt: number },
): Promise<void> {
  await db
    .updateTable("operator_tokens")
    .set({ oidc_subject: subject, oidc_rule: rule, name, expires_at: expiresAt })
    .where("id", "=", id)
    .execute();
}

export async function findOperatorToken(db: Db, id: string): Promise<StoredOperatorToken | null> {
  const row = await db.selectFrom("operator_tokens").selectAll().where("id", "=", id).executeTakeFirst();
  return row ? parseToken(row) : null;
}

export async function findOperatorTokenByHash(db: Db, hash: string): Promise<StoredOperatorToken | null> {
  const row = await db.selectFrom("operator_tokens").selectAll().where("hash", "=", hash).executeTakeFirst();
  return row ? parseToken(row) : null;
}

// Newest first.
export async function listOperatorTokens(db: Db, limit: number): Promise<StoredOperatorToken[]> {
  return (await db.selectFrom("operator_tokens").selectAll().orderBy("id", "desc").limit(limit).execute()).map(parseToken);
}

export async function setOperatorTokenUsed(db: Db, id: string, nowMs: number): Promise<void> {
  await db.updateTable("operator_tokens").set({ last_used_at: nowMs }).where("id", "=", id).execute();
}

// Keeps the time of the first revocation.
export async function setOperatorTokenRevoked(db: Db, id: string, nowMs: number): Promise<void> {
  await db.updateTable("operator_tokens").set({ revoked_at: nowMs }).where("id", "=", id).where("revoked_at", "is", null).execute();
}

const parseToken = (row: Selectable<OperatorTokensTable>): StoredOperatorToken => ({
  id: row.id,
  hint: row.hint,
  name: row.name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
});

// The names of these tokens, by id.
export async function operatorNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return new Map();
  const rows = await db.selectFrom("operator_tokens").select(["id", "name"]).where("id", "in", wanted).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}
