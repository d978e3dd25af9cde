import type { VolumeMode } from "@berth/contract";
import type { SandboxVolume } from "../../driver.ts";
import type { FileRunner } from "../../host/file-runner.ts";
import { makeMountPoint, makeMountPointBy } from "../../host/named-volumes/mount-points.ts";
import type { NamedVolumes } from "../../host/named-volumes/named-volumes.ts";
import { USER } from "../users/user-ids.ts";

// A mount of the bundle.
export interface BundleVolume {
  // A path in the sandbox.
  path: string;
  source: string;
  mode: VolumeMode;
}

export interface AttachedVolumes {
  // Folders of the host, each with a name that is unique in the sandbox.
  sources: Record<string, string>;
  // The mounts of the bundle. `paths` are the paths at which the runtime sees the sources.
  mounts(paths: Record<string, string>): BundleVolume[];
}

export interface AttachTarget {
  // The sandbox's folder.
  folder: string;
  home: string;
  // The host's id of the sandbox's user.
  owner: number;
  userNamespace: string | undefined;
  files: FileRunner;
}

// Mounts the volumes of a sandbox on the host, from where the runtime binds them into the sandbox.
export async function attachVolumes(
  namedVolumes: NamedVolumes,
  volumes: readonly SandboxVolume[],
  { folder, home, owner, userNamespace, files }: AttachTarget,
  signal: AbortSignal,
): Promise<AttachedVolumes> {
  const sources: Record<string, string> = {};
  for (const [i, volume] of volumes.entries()) {
    if (files.direct) makeMountPoint(home, volume.path, owner);
    else await makeMountPointBy(files, { home, path: volume.path, owner });
    sources[`volume${i}`] = await namedVolumes.attach(folder, volume, { owner: USER, hostOwner: owner, userNamespace, signal });
  }
  return {
    sources,
    mounts: (paths) => volumes.map(({ path, mode }, i) => ({ path, mode, source: paths[`volume${i}`] ?? "" })),
  };
}
