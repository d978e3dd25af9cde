import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { isVolumeId } from "@berth/contract";
import type { DriverVolumes, SandboxVolume } from "../driver.ts";
import { makeMountPoint } from "../host/named-volumes/mount-points.ts";
import { mustRun } from "../host/run.ts";

const HOME = "/home/user/";

// Volumes of sandboxes that are plain processes. Each is a folder, and a symbolic link in the sandbox's home leads to it. Nothing
// keeps a process from writing to a volume that is mounted read-only, and nothing limits its size.
export interface LinkedVolumes extends DriverVolumes {
  link(home: string, volume: SandboxVolume): void;
}

export function createLinkedVolumes(parent: string): LinkedVolumes {
  return {
    paths: "home",
    link(home, { id, path }) {
      mkdirSync(join(parent, id), { recursive: true, mode: 0o700 });
      const at = join(home, path.slice(HOME.length));
      makeMountPoint(home, dirname(path), process.getuid?.() ?? 0);
      // An earlier start has made the link, or the sandbox has put something else there.
      if (!lstatSync(at, { throwIfNoEntry: false })) symlinkSync(join(parent, id), at);
    },
    remove: async (id) => void (await mustRun("rm", ["-rf", "--", join(parent, id)])),
    list: async () => (existsSync(parent) ? readdirSync(parent).filter(isVolumeId) : []),
  };
}
