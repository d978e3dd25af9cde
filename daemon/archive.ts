import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import { walkFiles } from "./walk.ts";

const CHUNK_BYTES = 64 * 1024;
// What a plain zip can hold.
const MAX_FILES = 65_000;
const MAX_BYTES = 4_000_000_000;
const INCOMPLETE = "INCOMPLETE.txt";

// The folder as a zip, made while it is sent: one chunk of one file in memory at a time.
export async function sendArchive(folder: string, response: ServerResponse): Promise<void> {
  const zip = new Zip((error, chunk) => {
    if (error) response.destroy(error);
    else response.write(chunk);
  });
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let files = 0;
  let bytes = 0;

  for await (const { path, at } of walkFiles(folder, new Set())) {
    if (response.destroyed) return;
    const file = await openFile(at);
    if (!file) continue;
    try {
      const { size, mtime } = await file.stat();
      if (++files > MAX_FILES || (bytes += size) > MAX_BYTES) {
        addNote(zip, `This archive ends before ${path}: a zip holds ${MAX_FILES} files and 4 GB.\n`);
        break;
      }
      await addFile(zip, path, mtime, file);
    } finally {
      await file.close();
    }
  }
  zip.end();
  response.end();

  async function addFile(target: Zip, path: string, mtime: Date, file: FileHandle): Promise<void> {
    const entry = new ZipDeflate(path, { level: 3 });
    // The format's years begin in 1980.
    entry.mtime = mtime.getFullYear() < 1980 ? new Date(1980, 0, 1) : mtime;
    target.add(entry);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      // The compressor keeps what it is given, so it gets a copy.
      entry.push(Uint8Array.from(buffer.subarray(0, bytesRead)), bytesRead === 0);
      if (bytesRead === 0 || response.destroyed) return;
      if (response.writableNeedDrain) await Promise.race([once(response, "drain"), once(response, "close")]);
    }
  }
}

async function openFile(at: string): Promise<FileHandle | null> {
  return await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
}

function addNote(zip: Zip, text: string): void {
  const entry = new ZipPassThrough(INCOMPLETE);
  zip.add(entry);
  entry.push(Buffer.from(text), true);
}
