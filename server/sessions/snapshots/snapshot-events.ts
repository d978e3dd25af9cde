import type { EventType } from "@berth/contract";
import { appendEvent } from "../../store/events.ts";
import type { Db } from "../../store/schema.ts";
import type { Lease } from "../../store/sessions/session.ts";
import type { StoredSnapshot } from "../../store/snapshots/read.ts";
import { beginDeletion } from "../../store/snapshots/write.ts";

// Begins to delete a snapshot, which from then on no partner sees. False: it has changed since it was read.
export async function beginDiscard(tx: Db, snapshot: StoredSnapshot, lease: Lease, nowMs: number): Promise<boolean> {
  if (!(await beginDeletion(tx, snapshot, lease))) return false;
  if (snapshot.state === "creating") await appendSnapshotEvent(tx, snapshot, "snapshot.failed", nowMs);
  if (snapshot.state === "ready") await appendSnapshotEvent(tx, snapshot, "snapshot.deleted", nowMs);
  return true;
}

// Only for snapshots that a partner knows.
export async function appendSnapshotEvent(tx: Db, snapshot: StoredSnapshot, type: EventType, nowMs: number): Promise<void> {
  const { id: snapshotId, partnerId, sessionId, name, bytes, purpose } = snapshot;
  if (purpose === "fork" || partnerId === null) return;
  await appendEvent(tx, { partnerId, sessionId, type, at: nowMs, data: { sessionId, snapshotId, name, bytes } });
}
