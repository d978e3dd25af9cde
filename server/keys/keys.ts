import { AppError, newId, type KeyScope } from "@berth/contract";
import { hashKey, hintOf, newKey } from "../api-key-format.ts";
import { HOUR, type Clock } from "../clock.ts";
import { findKey, insertKey, keysOf, setKeyExpiry, setKeyRevoked, type StoredKey } from "../store/partners/keys.ts";
import type { Db } from "../store/schema.ts";
import { getPartner } from "./partners.ts";

// An API key without its secret, which is shown once when it is issued and is stored nowhere.
export interface Key extends StoredKey {
  state: "active" | "expired" | "revoked";
}

export interface IssuedKey extends Key {
  key: string;
}

// How long the old key works after a rotation, by default.
export const ROTATION_OVERLAP_MS = 24 * HOUR;

export async function issueKey(
  db: Db,
  clock: Clock,
  partnerId: string,
  options: { name?: string; scope?: KeyScope; expiresAt?: number | null; key?: string } = {},
): Promise<IssuedKey> {
  await getPartner(db, partnerId);
  const key = options.key ?? newKey();
  const nowMs = clock.now();
  const expiresAt = options.expiresAt ?? null;
  const stored: StoredKey = {
    id: newId("key", nowMs),
    partnerId,
    hint: hintOf(key),
    name: options.name ?? "",
    scope: options.scope ?? "admin",
    createdAt: nowMs,
    lastUsedAt: null,
    expiresAt,
    lifetimeMs: expiresAt === null ? null : expiresAt - nowMs,
    revokedAt: null,
  };
  await insertKey(db, { ...stored, hash: hashKey(key) });
  return { ...withState(stored, nowMs), key };
}

export interface Rotation {
  // How long the old key works.
  overlapMs?: number;
  // When the new key ends; null for never. If absent, it gets the lifetime with which the old one was issued.
  expiresAt?: number | null;
}

// Issues a new key with the old one's name, scope and lifetime. The old one ends after the overlap, or at its own expiry if that is earlier.
export async function rotateKey(
  db: Db,
  clock: Clock,
  id: string,
  { overlapMs = ROTATION_OVERLAP_MS, expiresAt }: Rotation = {},
): Promise<{ issued: IssuedKey; old: Key }> {
  const old = await getKey(db, clock, id);
  if (old.state !== "active")
    throw new AppError("validation_failed", { message: `The key ${id} is ${old.state}; issue a new one instead` });
  const { partnerId, name, scope, lifetimeMs } = old;
  const sameLifetime = lifetimeMs === null ? null : clock.now() + lifetimeMs;
  const issued = await issueKey(db, clock, partnerId, { name, scope, expiresAt: expiresAt === undefined ? sameLifetime : expiresAt });
  if (overlapMs <= 0) await setKeyRevoked(db, id, clock.now());
  else await setKeyExpiry(db, id, Math.min(old.expiresAt ?? Infinity, clock.now() + overlapMs));
  return { issued, old: await getKey(db, clock, id) };
}

// The key stops working at once here, and within 5 s on every other server. Idempotent.
export async function revokeKey(db: Db, clock: Clock, id: string): Promise<Key> {
  await getKey(db, clock, id);
  await setKeyRevoked(db, id, clock.now());
  return getKey(db, clock, id);
}

export async function getKey(db: Db, clock: Clock, id: string): Promise<Key> {
  const stored = await findKey(db, id);
  if (!stored) throw new AppError("not_found", { message: `There is no key ${id}` });
  return withState(stored, clock.now());
}

export async function listKeys(db: Db, clock: Clock, partnerId?: string): Promise<Key[]> {
  const nowMs = clock.now();
  return (await keysOf(db, partnerId)).map((stored) => withState(stored, nowMs));
}

function withState(stored: StoredKey, nowMs: number): Key {
  const { revokedAt, expiresAt } = stored;
  const isExpired = expiresAt !== null && expiresAt <= nowMs;
  return { ...stored, state: revokedAt !== null ? "revoked" : isExpired ? "expired" : "active" };
}
