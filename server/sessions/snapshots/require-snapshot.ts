import { AppError, type SnapshotId } from "@berth/contract";
import type { Db } from "../../store/schema.ts";
import { findSnapshot } from "../../store/snapshots/read.ts";

// A template may only name a snapshot of the operator, so that the files of one partner do not reach another by accident.
export async function requireAdopted(db: Db, id: SnapshotId): Promise<void> {
  const snapshot = await findSnapshot(db, id);
  if (snapshot?.state === "ready" && snapshot.partnerId === null) return;
  const problem = snapshot ? `${id} belongs to ${snapshot.partnerId}; run \`berth snapshot adopt\`` : `${id} does not exist`;
  throw new AppError("sandbox_failed", { message: "The snapshot of the template cannot be used", cause: new Error(problem) });
}

// The partner may have deleted the snapshot since the create began.
export async function requireReady(db: Db, id: SnapshotId): Promise<void> {
  const snapshot = await findSnapshot(db, id);
  if (snapshot?.state !== "ready") throw new AppError("snapshot_not_found");
}
