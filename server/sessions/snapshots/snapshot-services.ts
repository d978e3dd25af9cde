import { createListeners } from "../../listeners.ts";
import { createSnapshots, type SnapshotsDeps } from "./create-snapshots.ts";
import { createSnapshotWork, type SnapshotWorkDeps } from "./snapshot-work.ts";
import type { SnapshotLimits, Snapshots } from "./snapshots.ts";
import { createTidySnapshots, type TidySnapshots, type TidySnapshotsDeps } from "./tidy-snapshots.ts";

export type SnapshotServicesDeps = Omit<SnapshotWorkDeps, "limits" | "onEvent"> &
  Pick<SnapshotsDeps, "servers"> &
  Pick<TidySnapshotsDeps, "onFound" | "retention" | "quarantine"> & { snapshotLimits: SnapshotLimits };

// The snapshots, and what tidies them over time.
export function createSnapshotServices(deps: SnapshotServicesDeps): { snapshots: Snapshots; tidy: TidySnapshots } {
  const { snapshotLimits: limits } = deps;
  const events = createListeners<string>();
  const work = createSnapshotWork({ ...deps, limits, onEvent: events.call });
  return {
    snapshots: createSnapshots({ ...deps, work, onEvent: events.listen }),
    tidy: createTidySnapshots({ ...deps, work, retentionMs: limits.snapshotRetentionMs }),
  };
}
