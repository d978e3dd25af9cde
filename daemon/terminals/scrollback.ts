import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "@berth/contract/daemon.ts";
import { listNames } from "../io/read-or-empty.ts";
import { replaceFile, type ReplaceOptions } from "../io/replace-file.ts";
import type { Ring } from "./ring.ts";

// Saves terminals to disk, so that their output survives a stop of the session. One file per terminal: a line of JSON, then
// the output.
export interface Scrollback {
  load(): SavedTerminal[];
  // With `sync`, the data is on disk when this returns. Without it, saving is cheap, and a no-op if there is no new output.
  save(head: TerminalHead, ring: Ring, options: ReplaceOptions): void;
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
  const savedRanges = new Map<string, string>();
  const fileOf = (id: string) => join(folder, `${id}.terminal`);

  return {
    load() {
      return listNames(folder)
        .filter((name) => name.endsWith(".terminal"))
        .map((name) => parse(join(folder, name)))
        .filter((saved) => saved !== null)
        .toSorted((a, b) => a.head.createdAtMs - b.head.createdAtMs);
    },
    save(head, ring, options) {
      const range = `${ring.start} ${ring.end}`;
      if (!options.sync && savedRanges.get(head.id) === range) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      replaceFile(fileOf(head.id), fileParts(head, ring), options);
      savedRanges.set(head.id, range);
    },
    remove: (id) => rmSync(fileOf(id), { force: true }),
  };
}

// Uses one small buffer: a copy of the whole output would double the memory of a terminal.
function* fileParts(head: TerminalHead, ring: Ring): Generator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(head)}\n`);
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  for (let offset = ring.start; offset < ring.end;) {
    const size = ring.readInto(piece, offset);
    yield piece.subarray(0, size);
    offset += size;
  }
}

// The user can write to this folder, so its files are untrusted. Returns null for an invalid file.
function parse(path: string): SavedTerminal | null {
  try {
    const bytes = readFileSync(path);
    const lineEnd = bytes.indexOf(10);
    const head = JSON.parse(bytes.subarray(0, lineEnd).toString()) as TerminalHead;
    const output = bytes.subarray(lineEnd + 1);
    const isValid =
      /^term_[0-9a-f]{16}$/.test(head.id) &&
      Number.isSafeInteger(head.offset) &&
      head.offset >= output.length &&
      typeof head.cwd === "string";
    return isValid ? { head, output } : null;
  } catch {
    return null;
  }
}
