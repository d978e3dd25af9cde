import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Objects } from "./objects.ts";

// The storage of the double: volumes are folders, so a snapshot is a copy, and a claim with a data source starts with one.
export function followSnapshots(objects: Objects, volumesFolder: string, snapshotsFolder: string): Disposable {
  return objects.onChange(({ kind, type, object }) => {
    const name = object.metadata.name!;
    const { source, dataSource } = (object.spec ?? {}) as Fields;
    if (kind === "persistentvolumeclaims" && type === "ADDED" && dataSource)
      cpSync(join(snapshotsFolder, dataSource.name), join(volumesFolder, name), COPY);
    if (kind !== "volumesnapshots") return;
    if (type === "DELETED") rmSync(join(snapshotsFolder, name), { recursive: true, force: true });
    if (type !== "ADDED" || !source) return;
    const volume = join(volumesFolder, source.persistentVolumeClaimName);
    mkdirSync(snapshotsFolder, { recursive: true });
    if (existsSync(volume)) cpSync(volume, join(snapshotsFolder, name), COPY);
    // The controller reports a moment later.
    setTimeout(() => objects.setStatus(kind, name, { readyToUse: true, restoreSize: "256Mi" }), 20).unref();
  });
}

const COPY = { recursive: true, verbatimSymlinks: true, filter: (path: string) => !path.endsWith(".sock") };

interface Fields {
  source?: { persistentVolumeClaimName: string };
  dataSource?: { name: string };
}
