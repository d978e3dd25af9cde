import { constants } from "node:fs";
import { open } from "node:fs/promises";

// Reads a whole file into memory if it is a regular file of at most `maxBytes`. A FIFO never ends, and a huge file would
// exhaust the daemon's memory. Throws what `open` throws, such as ENOENT.
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer | "not_a_file" | "too_large"> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile()) return "not_a_file";
  return stats.size > maxBytes ? "too_large" : await file.readFile();
}
