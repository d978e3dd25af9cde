import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isSandboxId, type SandboxId } from "@berth/contract";
import { readMountPoints } from "../host/mounts.ts";
import { createVolumes } from "../host/volumes.ts";
import { mustRun, run } from "../host/run.ts";
import type { SandboxFolders } from "./container.ts";

// The places of sandboxes on the Engine's machine: the disk with workspace and home, the control folder and the way out.
// Where `bounded`, what the sandbox can write to has an end, as on oci: the disk is a file system of its own, and the
// control folder is a little memory. That takes mounts which the Engine can see, so not a server in a container.
export interface SandboxStorage {
  of(id: SandboxId): SandboxFolders;
  open(id: SandboxId, diskMb: number, signal: AbortSignal): Promise<void>;
  // Lets go of the mounts; the files stay.
  close(id: SandboxId): Promise<void>;
  remove(id: SandboxId): Promise<void>;
  has(id: SandboxId): Promise<boolean>;
  list(): Promise<SandboxId[]>;
}

const CONTROL_OPTIONS = "size=64k,nr_inodes=16,mode=700,nosuid,nodev,noexec";

export function createSandboxStorage({ dataDir, uid, bounded }: { dataDir: string; uid: number; bounded: boolean }): SandboxStorage {
  const volumes = createVolumes({ bounded });
  const sandboxesDir = join(dataDir, "sandboxes");
  const folderOf = (id: SandboxId) => join(sandboxesDir, id);

  const of = (id: SandboxId): SandboxFolders => ({
    control: join(folderOf(id), "run"),
    workspace: join(folderOf(id), "volume/workspace"),
    home: join(folderOf(id), "volume/home"),
    egress: join(dataDir, "egress", id),
  });

  async function close(id: SandboxId): Promise<void> {
    const { control } = of(id);
    if (readMountPoints().includes(control)) await run("umount", ["--lazy", control]);
    await volumes.close(folderOf(id));
  }

  return {
    of,
    close,

    async open(id, diskMb, signal) {
      const { control, egress } = of(id);
      // The way out stays the server's: the sandbox must not put another socket there.
      await mkdir(egress, { recursive: true, mode: 0o755 });
      await mkdir(control, { recursive: true, mode: 0o700 });
      if (bounded && !readMountPoints().includes(control))
        await mustRun("mount", ["-t", "tmpfs", "-o", `${CONTROL_OPTIONS},uid=${uid},gid=${uid}`, "berth", control]);
      if (!bounded) await chown(control, uid, uid);
      await volumes.open(folderOf(id), { diskMb, owner: uid, signal });
    },

    async remove(id) {
      await close(id);
      // Not by Node: a tree that is deeper than a path may be long stops it.
      await mustRun("rm", ["-rf", "--one-file-system", "--", folderOf(id), of(id).egress]);
    },

    has: async (id) => (await readdir(folderOf(id)).catch((): string[] => [])).includes("volume"),
    list: async () => (await readdir(sandboxesDir).catch((): string[] => [])).filter(isSandboxId),
  };
}
