import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readDiskSpace } from "../../../../disk-space.ts";
import { run } from "../../../host/run.ts";
import { ImageRefusal } from "./image-refusal.ts";

export interface FetchLimits {
  // Of the unpacked image.
  maxBytes: number;
  maxFiles: number;
  // MiB that are kept free on the disk.
  diskReserveMib: number;
  // The fetch ends if a registry sends nothing for so long.
  stallMs: number;
}

export interface FetchWatch extends Disposable {
  // Aborts with the reason why the fetch must not go on.
  readonly signal: AbortSignal;
  // 0 to 99.
  percent(): number;
  // Sets the size of the download, once it is known.
  expect(bytes: number): void;
  // To be called when the download is complete and the image is being unpacked.
  unpacking(): void;
  // Throws if the disk lacks space. For small images, which are complete before the first tick.
  checkDisk(): void;
}

export interface FolderSize {
  bytes: number;
  files: number;
}

const TICK_MS = 200;
// Counting takes at most this share of the time.
const COUNT_SHARE = 0.1;
// The progress when the download is complete. Unpacking takes about as long. Compressed layers have about two fifths of their unpacked
// size.
const COPIED_PERCENT = 60;
const UNPACKED_RATIO = 2.5;

// Watches the disk while an image is fetched. Neither the registry nor the image is trusted: both may be endless.
export function watchFetch(draft: string, limits: FetchLimits, onPercent: (percent: number) => void): FetchWatch {
  const { maxBytes, maxFiles, diskReserveMib, stallMs } = limits;
  const controller = new AbortController();
  const { signal } = controller;
  let expectedBytes: number | undefined;
  let copiedBytes = 0;
  let grownAtMs = performance.now();
  let unpackedBytes: number | undefined;
  let reported: number | undefined;
  let isCounting = false;
  let countAtMs = 0;

  const refuse = (reason: string) => controller.abort(new ImageRefusal(reason));

  function checkDisk(): void {
    const { spareBytes, reserveBytes, lacksInodes } = readDiskSpace(draft, diskReserveMib);
    if (spareBytes < reserveBytes || lacksInodes) throw new ImageRefusal("the disk of the server is full");
  }

  function check(): void {
    checkDisk();
    if (unpackedBytes !== undefined) return void count().catch((error: unknown) => controller.abort(error));
    const bytes = bytesIn(join(draft, "work"));
    if (bytes > copiedBytes) grownAtMs = performance.now();
    copiedBytes = bytes;
    if (copiedBytes > maxBytes) return refuse(tooLarge(maxBytes));
    if (performance.now() - grownAtMs > stallMs) refuse("its registry does not answer");
  }

  async function count(): Promise<void> {
    if (isCounting || performance.now() < countAtMs) return;
    isCounting = true;
    const startedMs = performance.now();
    // `find` fails on files that disappear meanwhile, so its exit code does not count.
    const { output } = await run("sh", ["-c", COUNT_SCRIPT, "sh", join(draft, "root")], { timeoutMs: COUNT_TIMEOUT_MS });
    const size = parseSize(output);
    countAtMs = performance.now() + (performance.now() - startedMs) / COUNT_SHARE;
    isCounting = false;
    if (!size) return;
    unpackedBytes = size.bytes;
    if (size.bytes > maxBytes) return refuse(tooLarge(maxBytes));
    if (size.files > maxFiles) refuse(tooManyFiles(maxFiles));
  }

  function percent(): number {
    if (expectedBytes === undefined || expectedBytes === 0) return unpackedBytes === undefined ? 0 : COPIED_PERCENT;
    if (unpackedBytes === undefined) return Math.floor(Math.min(1, copiedBytes / expectedBytes) * COPIED_PERCENT);
    const unpacked = Math.min(1, unpackedBytes / (expectedBytes * UNPACKED_RATIO));
    return Math.floor(COPIED_PERCENT + unpacked * (99 - COPIED_PERCENT));
  }

  const timer = setInterval(() => {
    try {
      if (signal.aborted) return;
      check();
      if (percent() !== reported) onPercent((reported = percent()));
    } catch (error) {
      controller.abort(error);
    }
  }, TICK_MS);

  return {
    signal,
    percent,
    checkDisk,
    expect: (bytes) => void (expectedBytes = bytes),
    unpacking() {
      expectedBytes ??= bytesIn(join(draft, "work"));
      unpackedBytes = 0;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

export const tooLarge = (maxBytes: number) => `it is larger than ${Math.floor(maxBytes / 2 ** 20)} MiB`;
export const tooManyFiles = (maxFiles: number) => `it has more than ${maxFiles} files`;

const COUNT_TIMEOUT_MS = 10 * 60_000;

// Prints the size of the folder `$1`, for `parseSize`. Node would need far longer.
export const COUNT_SCRIPT = `find "$1" -xdev -printf '%k\\n' 2>/dev/null | awk '{ n += 1; kib += $1 } END { printf "files=%d kib=%d\\n", n, kib }'`;

export function parseSize(output: string): FolderSize | undefined {
  const counted = /^files=(\d+) kib=(\d+)$/m.exec(output);
  return counted ? { files: Number(counted[1]), bytes: Number(counted[2]) * 1024 } : undefined;
}

// Synchronous, because a layout has few files.
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) bytes += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
