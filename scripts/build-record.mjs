// A run of scripts/build.ts that found nothing to build records when each file and folder that it looked at had changed last. While
// nothing changes again, set-up does not start it: it reads and hashes all sources, which takes a third of a second.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const recordOf = (root) => join(root, "node_modules/.berth-built");

export function isBuildCurrent(root) {
  try {
    return JSON.parse(readFileSync(recordOf(root), "utf8")).every(([path, changedMs]) => changedAt(root, path) === changedMs);
  } catch {
    // There is no whole record.
    return false;
  }
}

// `changes` maps paths to the results of `changedAt` since the run began. No-op if something has changed in the meantime, because the
// run may not have seen that.
export function recordBuild(root, changes, beganMs) {
  if ([...changes.values()].some((changedMs) => changedMs > beganMs)) return;
  try {
    writeFileSync(recordOf(root), JSON.stringify([...changes]));
  } catch {
    // Without a writable folder, every set-up hashes the sources.
  }
}

// The system's change time, which no program can set, or null if there is nothing. A folder's is that of the last entry that was added,
// removed or renamed.
export const changedAt = (root, path) => statSync(join(root, path), { throwIfNoEntry: false })?.ctimeMs ?? null;
