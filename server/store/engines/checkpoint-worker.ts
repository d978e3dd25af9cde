import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

// The thread of checkpoints.ts.

export type CheckpointOrder = "checkpoint" | "end";

const database = new DatabaseSync(workerData as string);
// It does not wait for readers and holds up no write. What is written meanwhile is left for the next one.
const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");

parentPort!.on("message", (order: CheckpointOrder) => {
  if (order === "end") {
    database.close();
    return parentPort!.close();
  }
  try {
    checkpoint.all();
  } catch {
    // The disk is full or fails. The log stays, and the next write meets the same.
  }
  parentPort!.postMessage("done");
});
