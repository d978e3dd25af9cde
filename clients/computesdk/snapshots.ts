import type { SnapshotMethods } from "@computesdk/provider";
import type { Berth, SnapshotData } from "../../client/index.ts";

export interface BerthSnapshot {
  id: string;
  provider: string;
  createdAt: Date;
  metadata: Pick<SnapshotData, "name" | "sessionId" | "template" | "bytes">;
}

// Snapshots hold the files of a sandbox, and `create({ snapshotId })` starts with them.
export function snapshotMethods(
  provider: string,
  { sessions, snapshots }: Pick<Berth, "sessions" | "snapshots">,
): SnapshotMethods<BerthSnapshot, null> {
  return {
    async create(_config, sandboxId, { name, metadata } = {}) {
      if (metadata && Object.keys(metadata).length > 0) throw new TypeError("A snapshot of Berth has a name, but no metadata");
      const session = await sessions.get(sandboxId);
      return describe(await session.snapshot(name === undefined ? {} : { name }));
    },
    async list(_config, { sandboxId, limit = Infinity } = {}) {
      const found: BerthSnapshot[] = [];
      for await (const snapshot of snapshots.list(sandboxId === undefined ? {} : { sessionId: sandboxId })) {
        if (found.length >= limit) break;
        found.push(describe(snapshot));
      }
      return found;
    },
    delete: (_config, snapshotId) => snapshots.remove(snapshotId),
  };

  function describe({ id, createdAt, name, sessionId, template, bytes }: SnapshotData): BerthSnapshot {
    return { id, provider, createdAt: new Date(createdAt), metadata: { name, sessionId, template, bytes } };
  }
}
