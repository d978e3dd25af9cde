import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isVolumeId, type VolumeId } from "@berth/contract";
import { createKeyedLock } from "../../../fairness/keyed-lock.ts";
import type { FileRunner } from "../file-runner.ts";
import type { NamedVolumes } from "./named-volumes.ts";

// The volumes of partners for a server that cannot mount file systems. Each is a folder, whose size nothing limits. The files belong to
// `hostOwner`, which has to be the same for all sandboxes that mount volumes.
export function createFolderVolumes({ folder: parent, files }: { folder: string; files: FileRunner }): NamedVolumes {
  const withLock = createKeyedLock();
  const diskOf = (id: VolumeId) => join(parent, id, "volume");
  return {
    paths: "all",
    attach: (_folder, { id }, { owner, hostOwner = owner, signal }) =>
      withLock(id, async () => {
        mkdirSync(join(parent, id), { recursive: true, mode: 0o700 });
        const user = String(files.idOf(hostOwner));
        await files.run("install", ["--directory", "--mode=755", `--owner=${user}`, `--group=${user}`, "--", diskOf(id)], { signal });
        return diskOf(id);
      }),
    // The mounts are the sandbox's own, and end with it.
    async detach() {},
    devicesIn: () => [],
    remove: (id) => withLock(id, async () => void (await files.run("rm", ["-rf", "--one-file-system", "--", join(parent, id)]))),
    list: async () => (existsSync(parent) ? readdirSync(parent).filter(isVolumeId) : []),
  };
}
