import { open, rm } from "node:fs/promises";
import type { BlockWrites, ByteRange } from "./block-writes.ts";
import { mustRun, run } from "../run.ts";

// The image of a disk, and how to hold its writers for a moment.
export interface ImageSource {
  image: string;
  // Where the image is mounted; undefined if it is not.
  mountPoint: string | undefined;
  // Follows the writes to the image. undefined if that is not possible.
  watchWrites(): BlockWrites | undefined;
  // undefined if nothing writes to the image.
  hold: Hold | undefined;
}

export interface Hold {
  freeze(): Promise<void>;
  thaw(): void | Promise<void>;
}

const COPY_TIMEOUT_MS = 10 * 60_000;
const CHUNK_BYTES = 1024 * 1024;
// With less than this to copy, the writers are held. Otherwise another round follows while they go on.
const SMALL_BYTES = 8 * 1024 * 1024;
const MAX_ROUNDS = 5;

// Copies an image as it is at one moment, and returns for how long its writers were held. If the file system can share blocks, that
// is the time of one system call. Otherwise the image is copied while it is in use, and then only the parts that were written in
// the meantime.
export async function copyImage(source: ImageSource, target: string, signal: AbortSignal): Promise<number> {
  const { image, hold } = source;
  await flush(source, signal);
  if (await canShareBlocks(image, target, signal)) {
    return await held(source, signal, () => mustRun("cp", ["--reflink=always", "--", image, target], { signal }));
  }
  const copyAll = () => mustRun("cp", ["--reflink=never", "--sparse=auto", "--", image, target], { signal, timeoutMs: COPY_TIMEOUT_MS });
  using writes = hold && source.watchWrites();
  if (!writes) return await held(source, signal, copyAll);
  await copyAll();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await flush(source, signal);
    const written = writes.takeWritten();
    if (!written) return await held(source, signal, copyAll);
    await copyRanges(image, target, written, signal);
    if (sumOf(written) <= SMALL_BYTES) break;
  }
  return await held(source, signal, async () => {
    const written = writes.takeWritten();
    await (written ? copyRanges(image, target, written, signal) : copyAll());
  });
}

async function held({ hold, ...source }: ImageSource, signal: AbortSignal, copy: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  try {
    await hold?.freeze();
    await flush(source, signal);
    await copy();
  } finally {
    await hold?.thaw();
  }
  return hold ? performance.now() - startedMs : 0;
}

async function flush({ mountPoint }: Pick<ImageSource, "mountPoint">, signal: AbortSignal): Promise<void> {
  if (mountPoint !== undefined) await mustRun("sync", ["-f", mountPoint], { signal, timeoutMs: COPY_TIMEOUT_MS });
}

// Also writes what the file system of the image still holds in memory, so that the copy under the hold is short. The target is removed
// for the same reason: replacing it takes longer.
async function canShareBlocks(image: string, target: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await run("cp", ["--reflink=always", "--", image, target], { signal });
  await rm(target, { force: true });
  return code === 0;
}

async function copyRanges(image: string, target: string, ranges: readonly ByteRange[], signal: AbortSignal): Promise<void> {
  await using from = await open(image, "r");
  await using to = await open(target, "r+");
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (const { offset, length } of ranges) {
    for (let done = 0; done < length; done += CHUNK_BYTES) {
      signal.throwIfAborted();
      const { bytesRead } = await from.read(buffer, 0, Math.min(CHUNK_BYTES, length - done), offset + done);
      await to.write(buffer, 0, bytesRead, offset + done);
    }
  }
}

const sumOf = (ranges: readonly ByteRange[]): number => ranges.reduce((sum, { length }) => sum + length, 0);
