import { AppError, CreateVolume, isSandboxId, isSnapshotId } from "@berth/contract";
import type { Clock } from "../../../clock.ts";
import { parseOptionalBody, parseRequiredBody } from "../../../http/requests/request-body.ts";
import { requireNoFaults } from "../../../http/requests/field-faults.ts";
import { compileFaultFinder } from "../../../http/requests/schema-faults.ts";
import { decodePosition, encodeCursor } from "../../../http/session-format/list-query.ts";
import { auditEntry, partnerIdOf } from "../../../http/routes/route-context.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Snapshots, StoredSnapshot } from "../../../sessions/snapshots/snapshots.ts";
import type { RecordVolume, Volumes } from "../../../sessions/volumes/volumes.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import type { Db } from "../../../store/schema.ts";
import { limit } from "./list-query.ts";
import type { AddRoute, Request } from "./route.ts";

export interface StorageRouteDeps {
  sessions: Pick<Sessions, "bySandbox">;
  snapshots: Snapshots;
  volumes: Volumes;
  clock: Clock;
}

const findVolumeFaults = compileFaultFinder(CreateVolume);

// Snapshots and volumes.
export function addStorageRoutes(add: AddRoute, { sessions, snapshots, volumes, clock }: StorageRouteDeps): void {
  const audit = (tx: Db, request: Request, action: string, id: string) => appendAudit(tx, auditEntry(request, action, id), clock.now());
  const recordVolume =
    (request: Request, action: string): RecordVolume =>
    (tx, { id }) =>
      audit(tx, request, action, id);
  const idOf = (request: Request) => (request.params as { id: string }).id;

  async function sessionIdOf(request: Request, sandboxId: string): Promise<string> {
    const session = isSandboxId(sandboxId) ? await sessions.bySandbox(sandboxId) : null;
    if (session?.partnerId !== partnerIdOf(request) || session.status === "destroyed")
      throw new AppError("session_not_found", { message: `sandbox ${sandboxId} not found` });
    return session.id;
  }

  add("POST", "/sandboxes/:id/snapshots", async (request, reply) => {
    const { name = "" } = parseOptionalBody(request) ?? {};
    if (typeof name !== "string" || name.length > 128) throw new AppError("bad_request", { message: "name must be a string" });
    const taken = await snapshots.take(partnerIdOf(request), await sessionIdOf(request, idOf(request)), {
      name,
      record: (tx, { id }) => audit(tx, request, "snapshot.create", id),
    });
    return reply.code(201).send(toSnapshot(taken));
  });

  add("GET", "/snapshots", async (request, reply) => {
    const query = request.query as Record<string, string | undefined>;
    const count = limit(query["limit"]);
    const after = query["nextToken"] === undefined ? undefined : decodePosition(query["nextToken"]);
    if (after === null || (after && !isSnapshotId(after.id)))
      throw new AppError("bad_request", { message: "nextToken is not one of this list" });
    const found = await snapshots.list(partnerIdOf(request), {
      limit: count + 1,
      ...(query["sandboxID"] !== undefined && { sessionId: await sessionIdOf(request, query["sandboxID"]) }),
      ...(after && { after }),
    });
    const page = found.slice(0, count);
    const last = page.at(-1);
    if (found.length > count && last) reply.header("x-next-token", encodeCursor({ createdAt: last.createdAtMs, id: last.id }));
    return page.filter(({ name }) => query["name"] === undefined || name === query["name"]).map(toSnapshot);
  });

  // E2B's snapshots are templates. Those of Berth are not a partner's, and stay.
  add("DELETE", "/templates/:id", async (request, reply) => {
    const id = idOf(request);
    if (!isSnapshotId(id)) throw new AppError("snapshot_not_found");
    await snapshots.remove(partnerIdOf(request), id, (tx) => audit(tx, request, "snapshot.delete", id));
    return reply.code(204).send();
  });

  add("POST", "/volumes", async (request, reply) => {
    const body = parseRequiredBody(request, CreateVolume);
    requireNoFaults(findVolumeFaults(body));
    const created = await volumes.create(partnerIdOf(request), body as CreateVolume, recordVolume(request, "volume.create"));
    return reply.code(201).send(toVolume(created));
  });

  add("GET", "/volumes", async (request) => (await volumes.list(partnerIdOf(request))).map(toVolume));

  add("GET", "/volumes/:id", async (request) => toVolume(await volumes.get(partnerIdOf(request), idOf(request))));

  add("DELETE", "/volumes/:id", async (request, reply) => {
    await volumes.remove(partnerIdOf(request), idOf(request), recordVolume(request, "volume.delete"));
    return reply.code(204).send();
  });
}

const toSnapshot = ({ id, name }: StoredSnapshot) => ({ snapshotID: id, names: name === "" ? [] : [name] });

// Files of a volume are read and written in a sandbox that mounts it, so the token opens nothing.
const toVolume = ({ id, name }: { id: string; name: string }) => ({ volumeID: id, name, token: "" });
