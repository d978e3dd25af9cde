import { chown, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSandboxId, type SandboxId, type SnapshotId } from "@berth/contract";
import { makeFolder } from "../../bounded-io/make-folder.ts";
import { readMountPoints } from "../host/mounts.ts";
import { mustRun, run } from "../host/run.ts";
import { createDiskSnapshots, type DiskSnapshots } from "../host/disks/disk-snapshots.ts";
import { createSandboxDisks } from "../host/disks/sandbox-disks.ts";
import type { SandboxVolume } from "../driver.ts";
import { makeMountPoint } from "../host/named-volumes/mount-points.ts";
import { createNamedVolumes, type NamedVolumes } from "../host/named-volumes/named-volumes.ts";
import type { SandboxFolders } from "./container.ts";

// The folders of sandboxes on the Engine's machine: the disk with workspace and home, the control folder, and the egress folder.
// If `bounded`, everything that a sandbox can write to has a limit: the disk is a file system in a file, and the control folder
// is a small tmpfs. This needs mounts that the Engine sees, so it does not work for a server in a container.
export interface SandboxStorage {
  foldersOf(id: SandboxId): SandboxFolders;
  // Opens the folders. Idempotent. Creates missing files only with `create`; otherwise it rejects with `disk_missing`.
  open(id: SandboxId, options: StorageOptions, signal: AbortSignal): Promise<void>;
  // Releases the mounts. The files stay. Idempotent.
  close(id: SandboxId): Promise<void>;
  // Deletes the files. Idempotent.
  remove(id: SandboxId): Promise<void>;
  has(id: SandboxId): Promise<boolean>;
  list(): Promise<SandboxId[]>;
  // The disk has turned read-only after an error.
  isReadOnly(id: SandboxId): boolean;
  // See SandboxDisks.
  hasFailed(id: SandboxId): Promise<boolean>;
  flush(id: SandboxId, signal: AbortSignal): Promise<void>;
  snapshots: DiskSnapshots;
  folderOf(id: SandboxId): string;
  readonly namedVolumes: NamedVolumes;
}

export interface StorageOptions {
  create?: { diskMb: number; snapshot?: SnapshotId | undefined };
  volumes: readonly SandboxVolume[];
}

const HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n";
const CONTROL_OPTIONS = "size=64k,nr_inodes=16,mode=700,nosuid,nodev,noexec";

export interface StorageDeps {
  dataDir: string;
  uid: number;
  bounded: boolean;
  diskReserveMib: number;
}

export function createSandboxStorage({ dataDir, uid, bounded, diskReserveMib }: StorageDeps): SandboxStorage {
  const disks = createSandboxDisks({ bounded });
  const snapshots = createDiskSnapshots({ dataDir, disks, diskReserveMib });
  const namedVolumes = createNamedVolumes({ folder: join(dataDir, "volumes"), bounded });
  const sandboxesDir = join(dataDir, "sandboxes");
  const folderOf = (id: SandboxId) => join(sandboxesDir, id);

  const foldersOf = (id: SandboxId): SandboxFolders => ({
    control: join(folderOf(id), "run"),
    workspace: join(folderOf(id), "volume/workspace"),
    home: join(folderOf(id), "volume/home"),
    egress: join(dataDir, "egress", id),
    hosts: join(folderOf(id), "hosts"),
    volumes: join(folderOf(id), "volumes"),
  });

  async function close(id: SandboxId): Promise<void> {
    const { control } = foldersOf(id);
    if (readMountPoints().includes(control)) await run("umount", ["--lazy", control]);
    await namedVolumes.detach(folderOf(id));
    await disks.close(folderOf(id));
  }

  return {
    foldersOf,
    folderOf,
    snapshots,
    close,
    namedVolumes,

    isReadOnly: (id) => disks.failedAmong([folderOf(id)]).size > 0,
    hasFailed: (id) => disks.hasFailed(folderOf(id)),
    flush: (id, signal) => disks.flush(folderOf(id), signal),

    async open(id, { create, volumes: mounted }, signal) {
      const { control, egress, hosts, home } = foldersOf(id);
      // The server owns the egress folder, so that the sandbox cannot replace the socket in it.
      makeFolder(egress, 0o755);
      await mkdir(control, { recursive: true, mode: 0o700 });
      if (bounded && !readMountPoints().includes(control))
        await mustRun("mount", ["-t", "tmpfs", "-o", `${CONTROL_OPTIONS},uid=${uid},gid=${uid}`, "berth", control]);
      if (!bounded) await chown(control, uid, uid);
      await writeFile(hosts, HOSTS, { mode: 0o644 });
      const source = create && { create: { diskMb: create.diskMb, source: snapshots.sourceOf(create.snapshot) } };
      await disks.open(folderOf(id), { ...source, owner: uid, signal });
      for (const volume of mounted) {
        makeMountPoint(home, volume.path, uid);
        await namedVolumes.attach(folderOf(id), volume, { owner: uid, signal });
      }
    },

    async remove(id) {
      await close(id);
      // Not with Node's rm, which fails for trees that are deeper than the maximum length of a path.
      await mustRun("rm", ["-rf", "--one-file-system", "--", folderOf(id), foldersOf(id).egress]);
    },

    has: async (id) => (await readdir(folderOf(id)).catch((): string[] => [])).includes("volume"),
    list: async () => (await readdir(sandboxesDir).catch((): string[] => [])).filter(isSandboxId),
  };
}
