import type { FastifyInstance, FastifyRequest } from "fastify";
import { CreateSnapshot, isSnapshotId, type DeletedSnapshot, type Snapshot, type SnapshotList } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Snapshots, StoredSnapshot } from "../../sessions/snapshots/snapshots.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { Db } from "../../store/schema.ts";
import { parseOptionalBody } from "../requests/request-body.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { addRoute } from "../requests/route.ts";
import type { Idempotency, Result } from "../requests/idempotency.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { decodePosition, parseLimit, single, toPage, type Query } from "../session-format/list-query.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface SnapshotRouteDeps {
  snapshots: Snapshots;
  idempotency: Idempotency;
  clock: Clock;
}

const findCreateFaults = compileFaultFinder(CreateSnapshot);

export function addSnapshotRoutes(app: FastifyInstance, { snapshots, idempotency: { runOnce }, clock }: SnapshotRouteDeps): void {
  const audit = (tx: Db, request: FastifyRequest, action: string, id: string) =>
    appendAudit(tx, auditEntry(request, action, id), clock.now());

  addRoute(app, "createSnapshot", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const body = parseOptionalBody(request) ?? {};
      requireNoFaults(findCreateFaults(body));
      const { name = "" } = body as CreateSnapshot;
      const taken = await snapshots.take(partnerIdOf(request), idOf(request), {
        name,
        async record(tx, snapshot) {
          await audit(tx, request, "snapshot.create", snapshot.id);
          await save?.(tx, toCreated(snapshot));
        },
      });
      return toCreated(taken);
    }),
  );

  addRoute(app, "listSnapshots", async (request): Promise<SnapshotList> => {
    const { limit, ...filter } = parseSnapshotQuery(request.query as Query);
    // One more than the page holds shows whether there is a next page.
    return toPage(await snapshots.list(partnerIdOf(request), { ...filter, limit: limit + 1 }), limit, toSnapshotBody);
  });

  addRoute(app, "getSnapshot", async (request) => toSnapshotBody(await snapshots.get(partnerIdOf(request), idOf(request))));

  addRoute(app, "deleteSnapshot", async (request): Promise<DeletedSnapshot> => {
    const id = idOf(request);
    await snapshots.remove(partnerIdOf(request), id, (tx) => audit(tx, request, "snapshot.delete", id));
    return { id, deleted: true };
  });
}

export function parseSnapshotQuery(query: Query): { limit: number; sessionId?: string; after?: { createdAt: number; id: string } } {
  const faults: { field: string; message: string }[] = [];
  const limit = parseLimit(query, faults);
  const sessionId = single(query, "sessionId", faults)?.replaceAll("\0", "");
  const cursor = single(query, "cursor", faults);
  const after = cursor === undefined ? undefined : decodePosition(cursor);
  if (cursor !== undefined && !(after && isSnapshotId(after.id)))
    faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  requireNoFaults(faults);
  return { limit, ...(sessionId !== undefined && { sessionId }), ...(after && { after }) };
}

const toCreated = (snapshot: StoredSnapshot): Result => ({ status: 201, body: toSnapshotBody(snapshot) });

export const toSnapshotBody = (snapshot: StoredSnapshot): Snapshot => ({
  id: snapshot.id,
  name: snapshot.name,
  status: snapshot.state === "ready" ? "ready" : "creating",
  sessionId: snapshot.sessionId,
  template: snapshot.template,
  bytes: snapshot.bytes,
  createdAt: new Date(snapshot.createdAtMs).toISOString(),
});
