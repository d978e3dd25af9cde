import { AppError, isSnapshotId } from "@berth/contract";
import type { ConsoleSnapshot, ConsoleSnapshotList } from "@berth/contract/console.ts";
import type { Clock } from "../../../clock.ts";
import type { Snapshots, StoredSnapshot } from "../../../sessions/snapshots/snapshots.ts";
import type { Store } from "../../../store/open.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { findSnapshot, listSnapshots, snapshotUse } from "../../../store/snapshots/read.ts";
import { parseSnapshotQuery, toSnapshotBody } from "../../routes/snapshot-routes.ts";
import { toPage, type Query } from "../../session-format/list-query.ts";
import type { ConsoleRoute } from "../console-api.ts";

export interface SnapshotRouteDeps {
  store: Store;
  clock: Clock;
  snapshots: Pick<Snapshots, "remove">;
}

export function snapshotRoutes({ store, clock, snapshots }: SnapshotRouteDeps): ConsoleRoute[] {
  return [
    {
      method: "GET",
      path: "/snapshots",
      async handle({ partnerId }, request): Promise<ConsoleSnapshotList> {
        const { limit, ...filter } = parseSnapshotQuery(request.query as Query);
        const found = await listSnapshots(store.db, { ...filter, ...(partnerId !== null && { partnerId }), limit: limit + 1 });
        return { ...toPage(found, limit, toConsoleSnapshot), use: await snapshotUse(store.db, partnerId) };
      },
    },
    {
      // One that the operator has adopted is deleted at the command line, because templates may use it.
      method: "POST",
      path: "/snapshots/:id/delete",
      async handle(access, request): Promise<{ id: string; deleted: true }> {
        const { id } = request.params as { id: string };
        const owner = access.partnerId ?? (isSnapshotId(id) ? ((await findSnapshot(store.db, id))?.partnerId ?? null) : null);
        if (owner === null) throw new AppError("snapshot_not_found");
        await snapshots.remove(owner, id, (tx) => appendAudit(tx, access.auditEntry("snapshot.delete", owner, id), clock.now()));
        return { id, deleted: true };
      },
    },
  ];
}

const toConsoleSnapshot = (snapshot: StoredSnapshot): ConsoleSnapshot => ({ ...toSnapshotBody(snapshot), partnerId: snapshot.partnerId });
