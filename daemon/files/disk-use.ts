import { readFileSync } from "node:fs";
import { lstat, opendir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { uptimeMs } from "../io/uptime.ts";

// The space that the files of the sandbox occupy on its disk.
export interface DiskUse {
  // The last measurement; null before the first. Measures again in the background if that was long ago.
  bytes(): number | null;
}

export interface DiskUseOptions {
  // Files beyond this number are not counted.
  maxFiles?: number;
}

const STATFS_EVERY_MS = 10_000;
// The shortest time between two walks over the files.
const WALK_EVERY_MS = 10 * 60_000;
const MAX_FILES = 1_000_000;
// A walk must not look like work of the user, and must not slow it down: it uses about 2 % of one processor while it lasts, and less
// than 0.2 % on average.
const WORK_MS = 4;
const REST_FACTOR = 50;
const WALK_REST_FACTOR = 10;
// Files with several names are recognized up to this number.
const MAX_LINKED = 100_000;
// Each level needs an open folder.
const MAX_DEPTH = 200;
const BLOCK_BYTES = 512;

export function createDiskUse(folders: readonly string[], { maxFiles = MAX_FILES }: DiskUseOptions = {}): DiskUse {
  let measured: number | null = null;
  let isMeasuring = false;
  let dueMs = 0;

  async function measure(): Promise<void> {
    const startedMs = uptimeMs();
    const mounts = readMounts();
    const volume = ownFileSystem(folders, mounts);
    if (volume !== null) {
      const { blocks, bfree, bsize } = await statfs(volume);
      measured = (blocks - bfree) * bsize;
      dueMs = uptimeMs() + STATFS_EVERY_MS;
      return;
    }
    measured = await walk(folders, new Set(mounts.map(({ path }) => path)), maxFiles);
    const endedMs = uptimeMs();
    dueMs = endedMs + Math.max(WALK_EVERY_MS, WALK_REST_FACTOR * (endedMs - startedMs));
  }

  return {
    bytes() {
      if (!isMeasuring && uptimeMs() >= dueMs) {
        isMeasuring = true;
        // If it fails, the next call tries again later.
        dueMs = uptimeMs() + WALK_EVERY_MS;
        void measure()
          .catch(() => {})
          .finally(() => (isMeasuring = false));
      }
      return measured;
    },
  };
}

interface Mount {
  // The folder of the file system that is mounted.
  root: string;
  path: string;
  type: string;
  device: string;
}

// One of the folders if all of them are on a volume that nothing else uses: then the kernel knows the answer. Other file systems count what
// is beside our folders too: a folder of the host, or of a file server.
function ownFileSystem(folders: readonly string[], mounts: readonly Mount[]): string | null {
  // The last mount at a path covers earlier ones.
  const found = folders.map((folder) => mounts.findLast(({ path }) => path === folder));
  const [first] = found;
  const isOwn = (mount: Mount | undefined) =>
    mount !== undefined && mount.device === first?.device && /^(?:ext[234]|xfs|btrfs)$/.test(mount.type) && /^\/[^/]*$/.test(mount.root);
  return first && found.every(isOwn) ? first.path : null;
}

function readMounts(): Mount[] {
  let text: string;
  try {
    text = readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    const [, , device, root, path, ...rest] = line.split(" ");
    const type = rest[rest.indexOf("-") + 1];
    if (device === undefined || root === undefined || path === undefined || type === undefined) return [];
    return [{ root: unescape(root), path: unescape(path), type, device }];
  });
}

const unescape = (path: string): string =>
  path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

// The space of all files below the folders, without what is mounted there. At a low speed.
async function walk(folders: readonly string[], mounted: ReadonlySet<string>, maxFiles: number): Promise<number> {
  const linked = new Set<string>();
  let bytes = 0;
  let files = 0;
  let workedFromMs = uptimeMs();

  async function add(path: string): Promise<boolean> {
    files++;
    const elapsedMs = uptimeMs() - workedFromMs;
    if (elapsedMs > WORK_MS) {
      await new Promise((resolve) => setTimeout(resolve, elapsedMs * REST_FACTOR).unref());
      workedFromMs = uptimeMs();
    }
    // A file may have been deleted in the meantime.
    const stats = await lstat(path).catch(() => null);
    if (!stats) return false;
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const inode = `${stats.dev}:${stats.ino}`;
      if (linked.has(inode)) return false;
      if (linked.size < MAX_LINKED) linked.add(inode);
    }
    bytes += stats.blocks * BLOCK_BYTES;
    return stats.isDirectory();
  }

  // One open folder for each level, instead of a list of everything that is left to do.
  async function addBelow(folder: string, depth: number): Promise<void> {
    const entries = depth < MAX_DEPTH ? await opendir(folder).catch(() => null) : null;
    if (!entries) return;
    for await (const { name } of entries) {
      if (files >= maxFiles) return;
      const path = join(folder, name);
      if (!mounted.has(path) && (await add(path))) await addBelow(path, depth + 1);
    }
  }

  for (const folder of folders) if (await add(folder)) await addBelow(folder, 0);
  return bytes;
}
