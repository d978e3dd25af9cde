import Type from "typebox";
import { CreateSnapshot, DeletedSnapshot, Snapshot, SnapshotList } from "../schemas/snapshot.ts";
import { query, route } from "./route.ts";

export const SNAPSHOT_ROUTES = {
  createSnapshot: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/snapshots",
    tag: "Snapshots",
    summary: "Take a snapshot of a session",
    description:
      "Copies the files of a running or paused session. A running session is stopped for a moment, so that the copy is consistent. Create a session with `source: {snapshotId}` to use it.",
    body: { schema: CreateSnapshot, required: false },
    idempotent: true,
    success: { status: 201, description: "The snapshot is complete.", schema: Snapshot },
    errors: [
      "validation_failed",
      "session_not_found",
      "session_busy",
      "snapshot_quota",
      "body_too_large",
      "unsupported_media_type",
      "session_elsewhere",
      "sandbox_failed",
      "snapshots_unsupported",
      "capacity_reached",
      "engine_unavailable",
      "image_fetching",
      "sandbox_timeout",
    ],
  }),
  listSnapshots: route({
    method: "GET",
    path: "/api/b2b/snapshots",
    tag: "Snapshots",
    summary: "List snapshots",
    description: "Returns your snapshots, newest first.",
    query: [
      query("sessionId", "Returns only snapshots of this session.", Type.String()),
      query("limit", "The maximum number of snapshots to return.", Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      query("cursor", "The `nextCursor` of the previous page.", Type.String()),
    ],
    success: { status: 200, description: "A page of snapshots.", schema: SnapshotList },
    errors: ["validation_failed"],
  }),
  getSnapshot: route({
    method: "GET",
    path: "/api/b2b/snapshots/{id}",
    tag: "Snapshots",
    summary: "Get a snapshot",
    description: "Returns a snapshot.",
    success: { status: 200, description: "The snapshot.", schema: Snapshot },
    errors: ["snapshot_not_found"],
  }),
  deleteSnapshot: route({
    method: "DELETE",
    path: "/api/b2b/snapshots/{id}",
    tag: "Snapshots",
    summary: "Delete a snapshot",
    description: "Deletes a snapshot and its files. Sessions that were created from it keep theirs. A request body is ignored.",
    success: { status: 200, description: "The snapshot is deleted.", schema: DeletedSnapshot },
    errors: [
      "snapshot_not_found",
      "snapshot_busy",
      "body_too_large",
      "session_elsewhere",
      "sandbox_failed",
      "engine_unavailable",
      "image_fetching",
      "sandbox_timeout",
    ],
  }),
} as const;
