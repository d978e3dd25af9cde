import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { mustRun, run } from "./run.ts";
import { isMounted, unmount } from "./mounts.ts";

// The disk of a sandbox: a sparse file with a file system of its own, mounted while the sandbox runs. That bounds bytes
// and inodes, and destroying it is the deletion of one file, however hostile its content. Where loop devices are missing
// it is a plain folder without a bound.
export interface Volumes {
  readonly bounded: boolean;
  // Makes or finds the volume in `folder`. May be repeated.
  open(folder: string, options: { diskMb: number; owner: number; signal: AbortSignal }): Promise<Volume>;
  // Writes everything to disk and lets go of mount and loop device. Content when there is none.
  close(folder: string): Promise<void>;
}

export interface Volume {
  workspace: string;
  home: string;
}

const RELEASE_TIMEOUT_MS = 5_000;
const BYTES_PER_FILE = 16 * 1024;
const MOUNT_OPTIONS = "nosuid,nodev,noatime,discard,noinit_itable,errors=remount-ro";

export function createVolumes(bounded: boolean): Volumes {
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
        // Whatever the user has done to it: a sandbox that cannot enter its workspace cannot start.
        chmodSync(path, 0o700);
      }
      return volume;
    },
    async close(folder) {
      const [mountPoint, image] = [join(folder, "volume"), join(folder, "volume.img")];
      while (isMounted(mountPoint)) await unmount(mountPoint);
      // The kernel lets go of the loop device a moment after the last view of the mount is gone. Somebody else on this
      // machine may hold one for longer (every new mount namespace begins with a copy); then it goes with them.
      for (const endMs = performance.now() + RELEASE_TIMEOUT_MS; findLoopDevice(image) && performance.now() < endMs;) await sleep(2);
    },
  };
}

// Says whether volumes can be bounded here, by making one.
export async function probeVolumes(scratch: string): Promise<{ bounded: boolean; reason: string }> {
  mkdirSync(scratch, { recursive: true });
  const volumes = createVolumes(true);
  try {
    await volumes.open(scratch, { diskMb: 16, owner: 0, signal: AbortSignal.timeout(10_000) });
    return { bounded: true, reason: "disks are bounded by loop images" };
  } catch (error) {
    return { bounded: false, reason: `disks are not bounded, because a loop image could not be made (${firstLine(error)})` };
  } finally {
    await volumes.close(scratch).catch(() => undefined);
    await run("rm", ["-rf", "--one-file-system", "--", scratch]);
  }
}

async function makeImage(image: string, diskMb: number, signal: AbortSignal): Promise<void> {
  // Under another name until it is whole: a crash in between leaves no half-made file system.
  const draft = `${image}.new`;
  writeFileSync(draft, "", { mode: 0o600 });
  truncateSync(draft, diskMb * 1024 * 1024);
  const journalMb = diskMb >= 256 ? 8 : 4;
  const options = ["-q", "-F", "-m", "0", "-b", "4096", "-i", String(BYTES_PER_FILE), "-J", `size=${journalMb}`, "-O", "^resize_inode"];
  await mustRun("mkfs.ext4", [...options, "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", draft], { signal });
  renameSync(draft, image);
}

// A file that is still attached to a loop device is mounted through that one: two of them over one file would ruin it.
async function mountImage(image: string, mountPoint: string): Promise<void> {
  const device = findLoopDevice(image);
  if (device !== undefined) {
    const { code } = await run("mount", ["-t", "ext4", "-o", MOUNT_OPTIONS, device, mountPoint]);
    if (code === 0) return;
    // It was just being let go of.
    for (const endMs = performance.now() + RELEASE_TIMEOUT_MS; findLoopDevice(image);) {
      if (performance.now() > endMs) throw new Error(`${image} stays attached to ${device}`);
      await sleep(2);
    }
  }
  await mustRun("mount", ["-t", "ext4", "-o", `loop,${MOUNT_OPTIONS}`, image, mountPoint]);
}

function findLoopDevice(image: string): string | undefined {
  const name = readdirSync("/sys/block").find((block) => {
    const backing = block.startsWith("loop") ? read(`/sys/block/${block}/loop/backing_file`)?.trim() : undefined;
    return backing === image || backing === `${image} (deleted)`;
  });
  return name === undefined ? undefined : `/dev/${name}`;
}

const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split("\n")[0];

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
