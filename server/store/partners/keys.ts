import type { Selectable } from "kysely";
import type { KeyScope } from "@berth/contract";
import { parsePartner, type Partner } from "./partners.ts";
import type { Db, KeysTable } from "../schema.ts";

// A stored API key. The key itself is not stored, only its hash.
export interface StoredKey {
  id: string;
  partnerId: string;
  hint: string;
  name: string;
  scope: KeyScope;
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  // How long it was to last when it was issued. null: it does not expire.
  lifetimeMs: number | null;
  revokedAt: number | null;
}

export async function insertKey(db: Db, { hash, ...key }: StoredKey & { hash: string }): Promise<void> {
  await db
    .insertInto("keys")
    .values({
      id: key.id,
      partner_id: key.partnerId,
      hash,
      hint: key.hint,
      name: key.name,
      scope: key.scope,
      created_at: key.createdAt,
      last_used_at: key.lastUsedAt,
      expires_at: key.expiresAt,
      lifetime_ms: key.lifetimeMs,
      revoked_at: key.revokedAt,
    })
    .execute();
}

export async function findKey(db: Db, id: string): Promise<StoredKey | null> {
  const row = await db.selectFrom("keys").selectAll().where("id", "=", id).executeTakeFirst();
  return row ? parseKey(row) : null;
}

export async function hasKeyWithHash(db: Db, hash: string): Promise<boolean> {
  return (await db.selectFrom("keys").select("id").where("hash", "=", hash).executeTakeFirst()) !== undefined;
}

// The keys of one partner, or of all.
export async function keysOf(db: Db, partnerId?: string): Promise<StoredKey[]> {
  const query = db.selectFrom("keys").selectAll().orderBy("partner_id").orderBy("id");
  const rows = await (partnerId === undefined ? query : query.where("partner_id", "=", partnerId)).execute();
  return rows.map(parseKey);
}

export async function setKeyExpiry(db: Db, id: string, expiresAt: number): Promise<void> {
  await db.updateTable("keys").set({ expires_at: expiresAt }).where("id", "=", id).execute();
}

// Keeps the time of the first revocation.
export async function setKeyRevoked(db: Db, id: string, revokedAt: number): Promise<void> {
  await db.updateTable("keys").set({ revoked_at: revokedAt }).where("id", "=", id).where("revoked_at", "is", null).execute();
}

// Never moves back in time: several servers write the times that they have seen, in any order.
export async function setKeyUsed(db: Db, id: string, lastUsedAt: number): Promise<void> {
  await db
    .updateTable("keys")
    .set({ last_used_at: lastUsedAt })
    .where("id", "=", id)
    .where((row) => row.or([row("last_used_at", "is", null), row("last_used_at", "<", lastUsedAt)]))
    .execute();
}

export interface KeyHolder {
  keyId: string;
  scope: KeyScope;
  expiresAt: number | null;
  revokedAt: number | null;
  partner: Partner;
}

export async function findKeyHolder(db: Db, hash: string): Promise<KeyHolder | null> {
  const row = await db
    .selectFrom("keys")
    .innerJoin("partners", "partners.id", "keys.partner_id")
    .selectAll("partners")
    .select(["keys.id as keyId", "keys.scope", "keys.expires_at as expiresAt", "keys.revoked_at as revokedAt"])
    .where("keys.hash", "=", hash)
    .executeTakeFirst();
  return row
    ? { keyId: row.keyId, scope: row.scope, expiresAt: row.expiresAt, revokedAt: row.revokedAt, partner: parsePartner(row) }
    : null;
}

const parseKey = (row: Selectable<KeysTable>): StoredKey => ({
  id: row.id,
  partnerId: row.partner_id,
  hint: row.hint,
  name: row.name,
  scope: row.scope,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  lifetimeMs: row.lifetime_ms,
  revokedAt: row.revoked_at,
});
