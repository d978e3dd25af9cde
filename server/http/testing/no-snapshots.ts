import { AppError } from "@berth/contract";
import type { Snapshots } from "../../sessions/snapshots/snapshots.ts";

// The snapshot service of a server without sandboxes: there is nothing to copy.
export const NO_SNAPSHOTS: Snapshots = {
  async take() {
    throw new AppError("session_not_found");
  },
  async get() {
    throw new AppError("snapshot_not_found");
  },
  list: async () => [],
  async remove() {
    throw new AppError("snapshot_not_found");
  },
  onEvent: () => ({ [Symbol.dispose]: () => {} }),
  templateOf: async () => null,
  async withFiles(_partnerId, from) {
    throw new AppError("snapshotId" in from ? "snapshot_not_found" : "session_not_found");
  },
};
