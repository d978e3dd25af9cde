import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";
import { mustRun, run } from "./run.ts";
import { isMounted, unmount } from "./mounts.ts";

// The disk of a sandbox: a sparse file that holds a file system, mounted while the sandbox runs. It limits bytes and inodes, and
// destroying it means deleting one file, however hostile its content is. Without loop devices it is a plain folder without
// a limit.
export interface Volumes {
  readonly bounded: boolean;
  // Creates the volume in `folder` or opens the existing one. Idempotent.
  open(folder: string, options: { diskMb: number; owner: number; signal: AbortSignal }): Promise<Volume>;
  // Flushes the volume to disk and releases its mount and loop device. No-op if it is not open.
  close(folder: string): Promise<void>;
}

export interface Volume {
  workspace: string;
  home: string;
}

const RELEASE_TIMEOUT_MS = 5_000;
const BYTES_PER_FILE = 16 * 1024;
const MOUNT_OPTIONS = "nosuid,nodev,noatime,discard,noinit_itable,errors=remount-ro";

export function createVolumes({ bounded }: { bounded: boolean }): Volumes {
  return {
    bounded,
    async open(folder, { diskMb, owner, signal }) {
      const [mountPoint, image] = [join(folder, "volume"), join(folder, "volume.img")];
      mkdirSync(mountPoint, { recursive: true });
      if ((bounded || existsSync(image)) && !isMounted(mountPoint)) {
        if (!existsSync(image)) await makeImage(image, diskMb, signal);
        await mountImage(image, mountPoint);
      }
      const volume = { workspace: join(mountPoint, "workspace"), home: join(mountPoint, "home") };
      for (const path of [volume.workspace, volume.home]) {
        mkdirSync(path, { recursive: true });
        chownSync(path, owner, owner);
        // The user may have changed the mode. A sandbox that cannot enter its workspace cannot start.
        chmodSync(path, 0o700);
      }
      return volume;
    },
    async close(folder) {
      const [mountPoint, image] = [join(folder, "volume"), join(folder, "volume.img")];
      while (isMounted(mountPoint)) await unmount(mountPoint);
      // The kernel releases the loop device shortly after the last copy of the mount is gone. Another process may keep a copy
      // for longer, because every new mount namespace starts with one; then the device is released with that process.
      for (const endMs = performance.now() + RELEASE_TIMEOUT_MS; findLoopDevice(image) && performance.now() < endMs;) await sleep(2);
    },
  };
}

// Checks whether volumes can be bounded here, by creating one.
export async function probeVolumes(scratch: string): Promise<{ bounded: boolean; reason: string }> {
  mkdirSync(scratch, { recursive: true });
  const volumes = createVolumes({ bounded: true });
  try {
    await volumes.open(scratch, { diskMb: 16, owner: 0, signal: AbortSignal.timeout(10_000) });
    return { bounded: true, reason: "loop images limit the size of disks" };
  } catch (error) {
    return { bounded: false, reason: `disks have no size limit, because a loop image could not be created (${firstLine(error)})` };
  } finally {
    await volumes.close(scratch).catch(() => undefined);
    await run("rm", ["-rf", "--one-file-system", "--", scratch]);
  }
}

async function makeImage(image: string, diskMb: number, signal: AbortSignal): Promise<void> {
  // Renamed when complete, so that a crash leaves no half-made file system under the final name.
  const draft = `${image}.new`;
  writeFileSync(draft, "", { mode: 0o600 });
  truncateSync(draft, diskMb * 1024 * 1024);
  const journalMb = diskMb >= 256 ? 8 : 4;
  const options = ["-q", "-F", "-m", "0", "-b", "4096", "-i", String(BYTES_PER_FILE), "-J", `size=${journalMb}`, "-O", "^resize_inode"];
  await mustRun("mkfs.ext4", [...options, "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", draft], { signal });
  renameSync(draft, image);
}

// If the image is still attached to a loop device, mounts that device: two devices over one file would corrupt it.
async function mountImage(image: string, mountPoint: string): Promise<void> {
  const device = findLoopDevice(image);
  if (device !== undefined) {
    const { code } = await run("mount", ["-t", "ext4", "-o", MOUNT_OPTIONS, device, mountPoint]);
    if (code === 0) return;
    // The kernel was just releasing the device.
    for (const endMs = performance.now() + RELEASE_TIMEOUT_MS; findLoopDevice(image);) {
      if (performance.now() > endMs) throw new Error(`${image} is still attached to ${device}`);
      await sleep(2);
    }
  }
  await mustRun("mount", ["-t", "ext4", "-o", `loop,${MOUNT_OPTIONS}`, image, mountPoint]);
}

function findLoopDevice(image: string): string | undefined {
  const name = readdirSync("/sys/block").find((block) => {
    const backing = block.startsWith("loop") ? readFileIfReadable(`/sys/block/${block}/loop/backing_file`)?.trim() : undefined;
    return backing === image || backing === `${image} (deleted)`;
  });
  return name === undefined ? undefined : `/dev/${name}`;
}

const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split("\n")[0];
