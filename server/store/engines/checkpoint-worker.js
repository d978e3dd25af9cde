// The thread of checkpoints.ts. JavaScript, because Node would load a parser of TypeScript in each thread, which doubles the time of its start.
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const database = new DatabaseSync(workerData);
// It does not wait for readers and holds up no write. What is written meanwhile is left for the next one.
const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");

parentPort?.on("message", (order) => {
  if (order === "end") {
    database.close();
    parentPort?.close();
    return;
  }
  try {
    checkpoint.all();
  } catch {
    // The disk is full or fails. The log stays, and the next write meets the same.
  }
  parentPort?.postMessage("done");
});
