import { open, rename } from "node:fs/promises";
import { mustRun, run } from "../run.ts";

const BYTES_PER_FILE = 16 * 1024;
const BLOCK_BYTES = 4096;
const MiB = 1024 * 1024;

// The parts of an image that are not zero.
interface Part {
  offset: number;
  bytes: Buffer;
}

// New file systems of one size differ only in their random id, which nothing uses, so mkfs runs once per size. Its result is about
// 200 KB.
const blanks = new Map<number, Promise<Part[] | undefined>>();

// Creates a sparse file that holds an empty file system.
export async function makeImage(image: string, diskMb: number, signal: AbortSignal): Promise<void> {
  // Renamed when complete, so that a crash leaves no half-made file system under the final name.
  const draft = `${image}.new`;
  // The create that reads them may be aborted.
  const parts = await blanks.get(diskMb)?.catch(() => undefined);
  if (parts) await writeParts(draft, diskMb, parts);
  else await formatImage(draft, diskMb, signal);
  // Another create may have read the same size in the meantime.
  if (!blanks.has(diskMb)) await remember(diskMb, draft, signal);
  await rename(draft, image);
}

async function remember(diskMb: number, image: string, signal: AbortSignal): Promise<void> {
  const reading = readParts(image, signal);
  blanks.set(diskMb, reading);
  await reading.catch(() => blanks.delete(diskMb));
}

async function formatImage(path: string, diskMb: number, signal: AbortSignal): Promise<void> {
  await writeParts(path, diskMb, []);
  const journalMb = diskMb >= 256 ? 8 : 4;
  const options = ["-q", "-F", "-m", "0", "-b", `${BLOCK_BYTES}`, "-i", `${BYTES_PER_FILE}`, "-J", `size=${journalMb}`];
  // `fast_commit` would make syncs faster, but its journal cannot always be replayed (bench/results/work.md).
  const features = ["-O", "^resize_inode", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"];
  await mustRun("mkfs.ext4", [...options, ...features, path], { signal });
}

async function writeParts(path: string, diskMb: number, parts: readonly Part[]): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await file.truncate(diskMb * MiB);
  await Promise.all(parts.map(({ offset, bytes }) => file.write(bytes, 0, bytes.length, offset)));
}

// undefined if the file system of the host does not report which parts of a file are allocated.
async function readParts(image: string, signal: AbortSignal): Promise<Part[] | undefined> {
  const { code, output } = await run("filefrag", ["-s", "-v", `-b${BLOCK_BYTES}`, image], { signal });
  const extents = code === 0 ? parseExtents(output) : [];
  if (extents.length === 0) return undefined;
  await using file = await open(image, "r");
  const parts: Part[] = [];
  for (const { offset, length } of extents) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    parts.push({ offset, bytes: buffer });
  }
  return parts;
}

// Parses lines such as "  1:   19..   19:   46236211..  46236211:   1:   unwritten". Unwritten extents read as zeros.
function parseExtents(output: string): { offset: number; length: number }[] {
  const lines = [...output.matchAll(/^ *\d+: *(\d+)\.\. *\d+: *\d+\.\. *\d+: *(\d+):(.*)$/gm)];
  return lines
    .filter(([, , , flags]) => !flags?.includes("unwritten"))
    .map(([, first, count]) => ({ offset: Number(first) * BLOCK_BYTES, length: Number(count) * BLOCK_BYTES }));
}
