import { readJson, type Transport } from "./http/transport.ts";
import type { CreateKey, Key, RotateKey } from "./types/api-types.ts";

// Manages your API keys. Needs a key with the scope `admin`.
export interface Keys {
  // This is the only response with the key itself.
  create(request?: CreateKey): Promise<Key & { key: string }>;
  list(): Promise<Key[]>;
  // Returns a new key with the same name and scope. The old key keeps working for 24 hours, or for `overlapMs`.
  rotate(id: string, options?: RotateKey): Promise<Key & { key: string; previousKeyExpiresAt: string }>;
  revoke(id: string): Promise<Key>;
}

const PATH = "/api/b2b/keys";

export function createKeys(send: Transport): Keys {
  const at = (id: string) => `${PATH}/${encodeURIComponent(id)}`;
  const post = <T>(url: string, json: unknown) => readJson<T>(send({ method: "POST", url, json, idempotencyKey: true, repeatable: true }));

  return {
    create: (request = {}) => post(PATH, request),
    list: async () => (await readJson<{ data: Key[] }>(send({ method: "GET", url: PATH }))).data,
    rotate: (id, options = {}) => post(`${at(id)}/rotate`, options),
    revoke: (id) => readJson(send({ method: "DELETE", url: at(id) })),
  };
}
