import { AppError, newId } from "@berth/contract";
import type { Selectable } from "kysely";
import { HOUR, type Clock } from "../clock.ts";
import type { Db, KeysTable } from "../store/schema.ts";
import { hashKey, hintOf, newKey } from "../api-key-format.ts";
import { getPartner } from "./partners.ts";

// What is known of a key. The key itself is nowhere; whoever issues one sees it once.
export interface Key {
  id: string;
  partnerId: string;
  hint: string;
  state: "active" | "expired" | "revoked";
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface IssuedKey extends Key {
  key: string;
}

// How long the old key still works after a rotation, unless told otherwise.
export const ROTATION_OVERLAP_MS = 24 * HOUR;

export async function issueKey(
  db: Db,
  clock: Clock,
  partnerId: string,
  options: { expiresAt?: number | null; key?: string } = {},
): Promise<IssuedKey> {
  await getPartner(db, partnerId);
  const key = options.key ?? newKey();
  const row = {
    id: newId("key", clock.now()),
    partner_id: partnerId,
    hash: hashKey(key),
    hint: hintOf(key),
    created_at: clock.now(),
    last_used_at: null,
    expires_at: options.expiresAt ?? null,
    revoked_at: null,
  };
  await db.insertInto("keys").values(row).execute();
  return { ...fromRow(row, clock), key };
}

// A new key beside the old one, which ends after the overlap (or earlier, if it was to end earlier anyway).
export async function rotateKey(
  db: Db,
  clock: Clock,
  id: string,
  { overlapMs = ROTATION_OVERLAP_MS } = {},
): Promise<{ issued: IssuedKey; old: Key }> {
  const old = await getKey(db, clock, id);
  if (old.state === "revoked" || old.state === "expired")
    throw new AppError("validation_failed", { message: `The key ${id} is ${old.state}; issue a new one instead` });
  const endsAt = Math.min(old.expiresAt ?? Infinity, clock.now() + overlapMs);
  const issued = await issueKey(db, clock, old.partnerId);
  const end = overlapMs <= 0 ? { revoked_at: clock.now() } : { expires_at: endsAt };
  await db.updateTable("keys").set(end).where("id", "=", id).execute();
  return { issued, old: await getKey(db, clock, id) };
}

// Stops working at once here and within 5 s on every other server. May be repeated.
export async function revokeKey(db: Db, clock: Clock, id: string): Promise<Key> {
  await getKey(db, clock, id);
  await db.updateTable("keys").set({ revoked_at: clock.now() }).where("id", "=", id).where("revoked_at", "is", null).execute();
  return getKey(db, clock, id);
}

export async function getKey(db: Db, clock: Clock, id: string): Promise<Key> {
  const row = await db.selectFrom("keys").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw new AppError("not_found", { message: `There is no key ${id}` });
  return fromRow(row, clock);
}

export async function listKeys(db: Db, clock: Clock, partnerId?: string): Promise<Key[]> {
  const query = db.selectFrom("keys").selectAll().orderBy("partner_id").orderBy("id");
  const rows = await (partnerId === undefined ? query : query.where("partner_id", "=", partnerId)).execute();
  return rows.map((row) => fromRow(row, clock));
}

function fromRow(row: Omit<Selectable<KeysTable>, "hash">, clock: Clock): Key {
  return {
    id: row.id,
    partnerId: row.partner_id,
    hint: row.hint,
    state: stateOf(row, clock.now()),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

function stateOf(row: { revoked_at: number | null; expires_at: number | null }, nowMs: number): Key["state"] {
  if (row.revoked_at !== null) return "revoked";
  return row.expires_at !== null && row.expires_at <= nowMs ? "expired" : "active";
}
