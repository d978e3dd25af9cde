import { existsSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";

// Node exits with this code if the snapshot was made by another version of Node or for another processor.
export const OTHER_MACHINE = 14;

// The flags for starting the daemon from the snapshot of its heap, as init.sh does in a container. V8 accepts a snapshot only if it
// was made with the same flags. Empty if there is no snapshot.
export function snapshotFlags(runtimeDir: string): string[] {
  const snapshot = join(runtimeDir, "daemon.blob");
  const flags = /^flags="(.+)"$/m.exec(readFileIfReadable(join(runtimeDir, "init.sh")) ?? "")?.[1];
  return flags === undefined || !existsSync(snapshot) ? [] : [...flags.split(" "), "--snapshot-blob", snapshot];
}
