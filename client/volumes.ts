import { readJson, type Transport } from "./http/transport.ts";
import type { CreateVolume, Volume } from "./types/api-types.ts";

// Manages your volumes: named disks that outlive sessions. Mount one with `volumes` when you create a session.
export interface Volumes {
  create(request: CreateVolume): Promise<Volume>;
  list(): Promise<Volume[]>;
  get(id: string): Promise<Volume>;
  // Deletes the volume with its files. Rejects with `volume_in_use` while a session mounts it.
  delete(id: string): Promise<Volume>;
}

const PATH = "/api/b2b/volumes";

export function createVolumes(send: Transport): Volumes {
  const at = (id: string) => `${PATH}/${encodeURIComponent(id)}`;
  return {
    create: (json) => readJson(send({ method: "POST", url: PATH, json, idempotencyKey: true, repeatable: true })),
    list: async () => (await readJson<{ data: Volume[] }>(send({ method: "GET", url: PATH }))).data,
    get: (id) => readJson(send({ method: "GET", url: at(id) })),
    delete: (id) => readJson(send({ method: "DELETE", url: at(id) })),
  };
}
