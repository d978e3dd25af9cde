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
  const listeners = new Set<(partnerId: string) => void>();
  const work = createSnapshotWork({
    ...deps,
    limits,
    onEvent(partnerId) {
      for (const listener of listeners) listener(partnerId);
    },
  });
  const onEvent: Snapshots["onEvent"] = (listener) => {
    listeners.add(listener);
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
  };
  return {
    snapshots: createSnapshots({ ...deps, work, onEvent }),
    tidy: createTidySnapshots({ ...deps, work, retentionMs: limits.snapshotRetentionMs }),
  };
}
