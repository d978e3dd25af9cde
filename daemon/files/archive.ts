import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import { walkFiles } from "./walk.ts";

export interface ArchiveLimits {
  // What a plain zip can hold.
  files: number;
  bytes: number;
  // The zip ends with a list of its names, which is kept until then.
  nameBytes: number;
}

const CHUNK_BYTES = 64 * 1024;
const LIMITS: ArchiveLimits = { files: 65_000, bytes: 4_000_000_000, nameBytes: 16 * 1024 * 1024 };
const INCOMPLETE = "INCOMPLETE.txt";
const NAMED = 20;

// The folder as a zip, made while it is sent: one chunk of one file in memory at a time. Files that do not fit are left
// out, and a note says so. Ends early when the caller leaves, wherever it is.
export async function sendArchive(folder: string, response: ServerResponse, limits = LIMITS): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  if (response.destroyed) left.abort();
  const zip = new Zip((error, chunk) => {
    if (error) response.destroy(error);
    else response.write(chunk);
  });
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const leftOut: string[] = [];
  let [files, bytes, nameBytes] = [0, 0, 0];

  try {
    for await (const { path, at } of walkFiles(folder, new Set(), left.signal)) {
      nameBytes += Buffer.byteLength(path);
      if (files === limits.files || nameBytes > limits.nameBytes) {
        leftOut.push(`${path} and everything behind it`);
        break;
      }
      await addFile(path, at);
    }
  } catch (error) {
    if (left.signal.aborted) return;
    throw error;
  }
  if (left.signal.aborted) return;
  if (leftOut.length > 0) addNote(zip, leftOut, limits);
  zip.end();
  response.end();

  async function addFile(path: string, at: string): Promise<void> {
    const file = await openFile(at);
    if (!file) return;
    try {
      const stats = await file.stat();
      // Something else may stand there since the folder was read; a device would never end.
      if (!stats.isFile()) return;
      if (bytes + stats.size > limits.bytes) return void leftOut.push(path);
      files++;
      bytes += stats.size;
      await pack(path, stats.mtime, file, stats.size);
    } finally {
      await file.close();
    }
  }

  // As many bytes as were counted, however fast the file grows.
  async function pack(path: string, mtime: Date, file: FileHandle, size: number): Promise<void> {
    const entry = new ZipDeflate(path, { level: 3 });
    // The format's years begin in 1980.
    entry.mtime = mtime.getFullYear() < 1980 ? new Date(1980, 0, 1) : mtime;
    zip.add(entry);
    for (let missing = size; ;) {
      const { bytesRead } = missing > 0 ? await file.read(buffer, 0, Math.min(CHUNK_BYTES, missing)) : { bytesRead: 0 };
      missing -= bytesRead;
      left.signal.throwIfAborted();
      // The compressor keeps what it is given, so it gets a copy.
      entry.push(Uint8Array.from(buffer.subarray(0, bytesRead)), bytesRead === 0);
      if (response.writableNeedDrain) await once(response, "drain", { signal: left.signal });
      if (bytesRead === 0) return;
    }
  }
}

async function openFile(at: string): Promise<FileHandle | null> {
  return await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
}

function addNote(zip: Zip, leftOut: string[], { files, bytes, nameBytes }: ArchiveLimits): void {
  const more = leftOut.length > NAMED ? [`and ${leftOut.length - NAMED} more`] : [];
  const most = `${files} files, ${nameBytes} bytes of names and ${bytes} bytes in them`;
  const reason = `This archive is not complete. One holds at most ${most}. Left out:`;
  const entry = new ZipPassThrough(INCOMPLETE);
  zip.add(entry);
  entry.push(Buffer.from([reason, ...leftOut.slice(0, NAMED), ...more, ""].join("\n")), true);
}
