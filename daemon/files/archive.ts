import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { crc32, createDeflateRaw } from "node:zlib";
import { Zip, type ZipInputFile, ZipPassThrough } from "fflate";
import { walkFiles } from "./walk.ts";

export interface ArchiveLimits {
  // The zip format without its 64-bit extension has these limits.
  files: number;
  bytes: number;
  // All names stay in memory until the end, because a zip ends with a list of them.
  nameBytes: number;
}

const CHUNK_BYTES = 64 * 1024;
const LIMITS: ArchiveLimits = { files: 65_000, bytes: 4_000_000_000, nameBytes: 16 * 1024 * 1024 };
const INCOMPLETE = "INCOMPLETE.txt";
const DEFLATED = 8;
// The zip format cannot express earlier dates.
const EARLIEST = new Date(1980, 0, 1);
const MAX_LISTED = 20;

// Streams a folder as a zip, with a few chunks of one file in memory at a time. Node's zlib compresses it: the daemon runs without V8's
// optimizing compilers, and without them a compressor in JavaScript takes up to twenty times as long. A note in the archive lists files that did
// not fit. Stops when the caller disconnects.
export async function sendArchive(folder: string, response: ServerResponse, limits = LIMITS): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  if (response.destroyed) disconnected.abort();
  const zip = new Zip((error, chunk) => {
    if (error) response.destroy(error);
    else response.write(chunk);
  });
  const leftOut: string[] = [];
  let [files, bytes, nameBytes] = [0, 0, 0];

  try {
    for await (const { path, at } of walkFiles(folder, new Set(), disconnected.signal)) {
      nameBytes += Buffer.byteLength(path);
      if (files === limits.files || nameBytes > limits.nameBytes) {
        leftOut.push(`${path} and everything after it`);
        break;
      }
      await addFile(path, at);
    }
  } catch (error) {
    if (disconnected.signal.aborted) return;
    throw error;
  }
  if (disconnected.signal.aborted) return;
  if (leftOut.length > 0) addNote(zip, leftOut, limits);
  zip.end();
  response.end();

  async function addFile(path: string, at: string): Promise<void> {
    const file = await openFile(at);
    if (!file) return;
    try {
      const stats = await file.stat();
      // The file may have been replaced since the folder was read, and a device never ends.
      if (!stats.isFile()) return;
      if (bytes + stats.size > limits.bytes) return void leftOut.push(path);
      files++;
      bytes += stats.size;
      await pack(path, stats.mtime, file, stats.size);
    } finally {
      await file.close();
    }
  }

  // Packs exactly `size` bytes, even if the file is growing.
  async function pack(path: string, mtime: Date, file: FileHandle, size: number): Promise<void> {
    const entry: ZipInputFile = {
      filename: portable(path),
      size: 0,
      crc: 0,
      compression: DEFLATED,
      mtime: mtime < EARLIEST ? EARLIEST : mtime,
    };
    zip.add(entry);
    const compressor = createDeflateRaw({ level: 3 });
    const emptied = once(
      compressor.on("data", (chunk: Buffer<ArrayBuffer>) => entry.ondata!(null, chunk, false)),
      "end",
    );
    emptied.catch(() => {});
    try {
      for (let remaining = size; remaining > 0;) {
        // The compressor keeps its input, so every chunk has a buffer of its own.
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK_BYTES, remaining)));
        if (bytesRead === 0) break;
        remaining -= bytesRead;
        disconnected.signal.throwIfAborted();
        const chunk = buffer.subarray(0, bytesRead);
        entry.crc = crc32(chunk, entry.crc);
        entry.size! += bytesRead;
        if (!compressor.write(chunk)) await once(compressor, "drain", { signal: disconnected.signal });
        if (response.writableNeedDrain) await once(response, "drain", { signal: disconnected.signal });
      }
      compressor.end();
      await emptied;
      entry.ondata!(null, new Uint8Array(0), true);
    } finally {
      compressor.destroy();
    }
  }
}

// Windows takes these characters for folders and drives, so a name with them could be unpacked outside of the chosen folder.
const portable = (path: string): string => path.replaceAll("\\", "%5C").replaceAll(":", "%3A");

async function openFile(at: string): Promise<FileHandle | null> {
  return await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
}

function addNote(zip: Zip, leftOut: string[], { files, bytes, nameBytes }: ArchiveLimits): void {
  const more = leftOut.length > MAX_LISTED ? [`and ${leftOut.length - MAX_LISTED} more`] : [];
  const most = `${files} files, ${nameBytes} bytes of file names and ${bytes} bytes of data`;
  const reason = `This archive is incomplete. An archive holds at most ${most}. Left out:`;
  const entry = new ZipPassThrough(INCOMPLETE);
  zip.add(entry);
  entry.push(Buffer.from([reason, ...leftOut.slice(0, MAX_LISTED), ...more, ""].join("\n")), true);
}
