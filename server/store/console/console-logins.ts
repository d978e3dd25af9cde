import type { KeyScope } from "@berth/contract";
import type { Db } from "../schema.ts";

export type NewLogin = { hash: string; createdAt: number; expiresAt: number } & ({ tokenId: string } | { keyId: string });

export async function insertLogin(db: Db, login: NewLogin): Promise<void> {
  const { hash, createdAt, expiresAt } = login;
  const [tokenId, keyId] = "tokenId" in login ? [login.tokenId, null] : [null, login.keyId];
  await db
    .insertInto("console_logins")
    .values({ hash, token_id: tokenId, key_id: keyId, created_at: createdAt, expires_at: expiresAt })
    .execute();
}

// The operator token or the partner's key that a browser signed in with, as it is now.
export type FoundLogin = { kind: "operator"; expiresAt: number; token: LoginToken } | { kind: "partner"; expiresAt: number; key: LoginKey };

export interface LoginToken {
  id: string;
  name: string;
  expiresAt: number;
  revokedAt: number | null;
  // The rule that allowed the sign-in at an identity provider; null for a token.
  oidcRule: string | null;
}

export interface LoginKey {
  id: string;
  scope: KeyScope;
  expiresAt: number | null;
  revokedAt: number | null;
  partner: { id: string; name: string; state: "active" | "suspended" };
}

export async function findLogin(db: Db, hash: string): Promise<FoundLogin | null> {
  const login = await db.selectFrom("console_logins").selectAll().where("hash", "=", hash).executeTakeFirst();
  if (!login) return null;
  const expiresAt = login.expires_at;
  if (login.token_id !== null) {
    const columns = ["id", "name", "expires_at as expiresAt", "revoked_at as revokedAt", "oidc_rule as oidcRule"] as const;
    const token = await db.selectFrom("operator_tokens").select(columns).where("id", "=", login.token_id).executeTakeFirst();
    return token ? { kind: "operator", expiresAt, token } : null;
  }
  const key = await db
    .selectFrom("keys")
    .innerJoin("partners", "partners.id", "keys.partner_id")
    .select(["keys.id", "scope", "expires_at", "revoked_at", "partner_id", "partners.name as partner_name", "partners.state"])
    .where("keys.id", "=", login.key_id)
    .executeTakeFirst();
  if (!key) return null;
  const { id, scope, expires_at, revoked_at, partner_id, partner_name, state } = key;
  const partner = { id: partner_id, name: partner_name, state };
  return { kind: "partner", expiresAt, key: { id, scope, expiresAt: expires_at, revokedAt: revoked_at, partner } };
}

export async function deleteLogin(db: Db, hash: string): Promise<void> {
  await db.deleteFrom("console_logins").where("hash", "=", hash).execute();
}

// Removes up to `limit` logins that have expired.
export async function purgeLogins(db: Db, nowMs: number, limit: number): Promise<void> {
  const expired = db.selectFrom("console_logins").select("hash").where("expires_at", "<=", nowMs).limit(limit);
  await db.deleteFrom("console_logins").where("hash", "in", expired).execute();
}
