import { AppError, type KeyScope } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Store } from "../store/open.ts";
import { lockPartner } from "../store/partners/partners.ts";
import type { Db } from "../store/schema.ts";
import { issueKey, listKeys, revokeKey, rotateKey, type IssuedKey, type Key, type Rotation } from "./keys.ts";

// The keys of a partner, as the partner itself manages them.
export interface OwnKeys {
  create(partnerId: string, key: NewKey, record: RecordChange<IssuedKey>): Promise<IssuedKey>;
  list(partnerId: string): Promise<Key[]>;
  rotate(partnerId: string, id: string, options: Rotation, record: RecordChange<RotatedKey>): Promise<RotatedKey>;
  revoke(partnerId: string, id: string, record: RecordChange<Key>): Promise<Key>;
}

export interface NewKey {
  name?: string;
  scope?: KeyScope;
  expiresAt: number | null;
}

export interface RotatedKey {
  issued: IssuedKey;
  old: Key;
}

// Runs in the transaction of the change.
export type RecordChange<Changed> = (tx: Db, changed: Changed) => Promise<void>;

export interface OwnKeysDeps {
  store: Store;
  clock: Clock;
  // Called when a key has changed, so that cached ones are read again.
  onChange(): void;
}

export const MAX_ACTIVE_KEYS = 100;

export function createOwnKeys({ store, clock, onChange }: OwnKeysDeps): OwnKeys {
  // Changes of one partner's keys run one after the other, so that each sees the others when it counts.
  async function change<Changed>(
    partnerId: string,
    record: RecordChange<Changed>,
    work: (tx: Db, keys: Key[]) => Promise<Changed>,
  ): Promise<Changed> {
    const changed = await store.transaction(async (tx) => {
      await lockPartner(tx, partnerId);
      const result = await work(tx, await listKeys(tx, clock, partnerId));
      await record(tx, result);
      return result;
    });
    onChange();
    return changed;
  }

  return {
    create: (partnerId, key, record) =>
      change(partnerId, record, (tx, keys) => {
        requireRoom(keys);
        return issueKey(tx, clock, partnerId, key);
      }),

    list: (partnerId) => listKeys(store.db, clock, partnerId),

    rotate: (partnerId, id, options, record) =>
      change(partnerId, record, (tx, keys) => {
        if (!isActive(requireKey(keys, id))) throw new AppError("key_inactive");
        requireRoom(keys);
        return rotateKey(tx, clock, id, options);
      }),

    revoke: (partnerId, id, record) =>
      change(partnerId, record, (tx, keys) => {
        const admins = keys.filter((key) => isActive(key) && key.scope === "admin");
        if (admins.length === 1 && requireKey(keys, id) === admins[0]) throw new AppError("last_admin_key");
        return revokeKey(tx, clock, requireKey(keys, id).id);
      }),
  };
}

function requireKey(keys: Key[], id: string): Key {
  const key = keys.find((own) => own.id === id);
  if (!key) throw new AppError("key_not_found");
  return key;
}

const isActive = ({ state }: Key): boolean => state === "active";

function requireRoom(keys: Key[]): void {
  if (keys.filter(isActive).length >= MAX_ACTIVE_KEYS) throw new AppError("key_quota");
}
