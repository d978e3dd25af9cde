import { paged, type Paged } from "./http/paging.ts";
import { readJson, type Transport } from "./http/transport.ts";
import type { Page, SnapshotData } from "./types/api-types.ts";

// Copies of the files of sessions. `session.snapshot()` takes one, and `sessions.create({ source: { snapshotId } })` uses it.
export interface Snapshots {
  get(id: string): Promise<SnapshotData>;
  // Newest first.
  list(filter?: { sessionId?: string; pageSize?: number }): Paged<SnapshotData>;
  // Sessions that were created from it keep their files.
  remove(id: string): Promise<void>;
}

const PATH = "/api/b2b/snapshots";

const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`;

export function createSnapshots(send: Transport): Snapshots {
  return {
    get: (id) => readJson(send({ method: "GET", url: pathOf(id) })),
    list: ({ sessionId, pageSize } = {}) =>
      paged((cursor) => readJson<Page<SnapshotData>>(send({ method: "GET", url: PATH, query: { sessionId, limit: pageSize, cursor } }))),
    async remove(id) {
      await send({ method: "DELETE", url: pathOf(id) });
    },
  };
}
