import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { Ring } from "./ring.ts";

// Terminals on disk, so that a stopped session finds its output again. One file each: a line of JSON, then the output.
export interface Scrollback {
  load(): SavedTerminal[];
  // `lasting`: on the disk for certain when it returns. Otherwise cheap, and nothing at all without new output.
  save(head: TerminalHead, ring: Ring, options: { lasting: boolean }): void;
  remove(id: string): void;
}

export interface TerminalHead extends Terminal {
  cwd: string;
}

export interface SavedTerminal {
  head: TerminalHead;
  output: Buffer;
}

const PIECE_BYTES = 32 * 1024;

export function openScrollback(folder: string): Scrollback {
  const savedOffsets = new Map<string, number>();
  const fileOf = (id: string) => join(folder, `${id}.terminal`);

  return {
    load() {
      return names(folder)
        .filter((name) => name.endsWith(".terminal"))
        .map((name) => parse(join(folder, name)))
        .filter((saved) => saved !== null)
        .toSorted((a, b) => a.head.createdAtMs - b.head.createdAtMs);
    },
    save(head, ring, { lasting }) {
      if (!lasting && savedOffsets.get(head.id) === ring.end) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      replaceFile(fileOf(head.id), fileParts(head, ring), lasting);
      savedOffsets.set(head.id, ring.end);
    },
    remove: (id) => rmSync(fileOf(id), { force: true }),
  };
}

// Piece by piece through one buffer: a copy of everything, every time, would double what a terminal takes.
function* fileParts(head: TerminalHead, ring: Ring): Generator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(head)}\n`);
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  for (let offset = ring.start; offset < ring.end;) {
    const size = ring.readInto(piece, offset);
    yield piece.subarray(0, size);
    offset += size;
  }
}

// A crash leaves the old file or the new one, never half of it. Each part is used up before the next is asked for.
export function replaceFile(path: string, parts: Iterable<Uint8Array>, lasting = true): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, "w", 0o600);
  try {
    for (const part of parts) for (let done = 0; done < part.length;) done += writeSync(file, part, done);
    if (lasting) fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

// The folder is the user's: what is in it may be anything, and a file that is not ours is passed over.
function parse(path: string): SavedTerminal | null {
  try {
    const bytes = readFileSync(path);
    const lineEnd = bytes.indexOf(10);
    const head = JSON.parse(bytes.subarray(0, lineEnd).toString()) as TerminalHead;
    const output = bytes.subarray(lineEnd + 1);
    const sound =
      /^term_[0-9a-f]{16}$/.test(head.id) &&
      Number.isSafeInteger(head.offset) &&
      head.offset >= output.length &&
      typeof head.cwd === "string";
    return sound ? { head, output } : null;
  } catch {
    return null;
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
