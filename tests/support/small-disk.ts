import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const MAX_TRIES = 100;

// A separate file system that other tests do not fill. Only root can mount it.
export interface SmallDisk extends AsyncDisposable {
  folder: string;
  freeBytes(): number;
  // Leaves this many bytes free, or none at all.
  fill(leftBytes?: number): void;
  // Deletes what `fill` has written.
  free(): void;
}

export function mountSmallDisk(mib: number): SmallDisk {
  const image = `${mkdtempSync(join(tmpdir(), "berth-disk-"))}.img`;
  const folder = image.replace(/\.img$/, "");
  execFileSync("truncate", ["-s", `${mib}M`, image]);
  // The disk has no blocks for root alone, because other programs of the host may run as root too.
  execFileSync("mkfs.ext4", ["-q", "-m", "0", image]);
  execFileSync("mount", ["-o", "loop", image, folder]);
  const filler = join(folder, "filler");
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    freeBytes,
    fill(leftBytes = 0) {
      const bytes = freeBytes() - leftBytes;
      if (bytes > 0) spawnSync("fallocate", ["-l", `${bytes}`, filler]);
      // Allocating needs some blocks itself, so the rest is written.
      if (leftBytes === 0) spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k", "oflag=append", "conv=notrunc"]);
    },
    free: () => rmSync(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      // A process that was killed may still be ending.
      for (let tries = 0; spawnSync("umount", [folder]).status !== 0; tries++) {
        if (tries === MAX_TRIES) throw new Error(`${folder} is still in use`);
        await delay(100);
      }
      rmSync(folder, { recursive: true });
      rmSync(image);
    },
  };
}
