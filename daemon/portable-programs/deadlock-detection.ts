import { statSync } from "node:fs";
import { type Edit, readBytes } from "./edits.ts";

// Of Abseil (mutex.cc), in a namespace without a name. Node 24 is built without NDEBUG, and its value is therefore to abort.
const VARIABLE = Buffer.from("_ZN4absl12_GLOBAL__N_124synch_deadlock_detectionE\0");
// Its values (OnDeadlockCycle): to do nothing, and to report or abort when two mutexes are locked in both orders.
const [IGNORE, REPORT, ABORT] = [0, 1, 2];

// Of ELF64 (see elf.5).
const HEADER_BYTES = 64;
const SECTION_BYTES = 64;
const SYMBOL_BYTES = 24;
const [SHT_PROGBITS, SHT_SYMTAB] = [1, 2];
const STT_OBJECT = 1;
const MAX_TABLE_BYTES = 256 * 1024 * 1024;

interface Section {
  type: number;
  address: number;
  offset: number;
  size: number;
  link: number;
}

// Turns off Abseil's search for deadlocks in a copy of Node: a table of 1 MB in each process, and work whenever a thread locks a mutex.
// No flag and no environment variable does that. The variable is found by its name in the table of symbols of a 64-bit little-endian
// ELF file. Returns undefined if there is not exactly one of that name, with a size and value that we know: the program then stays as
// it is, and only needs more memory.
export function ignoreDeadlocks(path: string): Edit | undefined {
  const offsets = findVariables(path);
  const [offset] = offsets;
  if (offset === undefined || offsets.length > 1) return undefined;
  const value = readBytes(path, offset, 4).readUInt32LE();
  return value === REPORT || value === ABORT ? { offset, bytes: uint32(IGNORE) } : undefined;
}

function findVariables(path: string): number[] {
  const sections = readSections(path);
  const symbols = sections.find(({ type }) => type === SHT_SYMTAB);
  const names = symbols && sections[symbols.link];
  if (!names || symbols.size > MAX_TABLE_BYTES || names.size > MAX_TABLE_BYTES) return [];
  const [table, texts] = [readBytes(path, symbols.offset, symbols.size), readBytes(path, names.offset, names.size)];
  const found: number[] = [];
  for (let entry = 0; entry + SYMBOL_BYTES <= table.length; entry += SYMBOL_BYTES) {
    const isVariable = (table.readUInt8(entry + 4) & 0xf) === STT_OBJECT && Number(table.readBigUInt64LE(entry + 16)) === 4;
    const name = table.readUInt32LE(entry);
    if (!isVariable || !texts.subarray(name, name + VARIABLE.length).equals(VARIABLE)) continue;
    const section = sections[table.readUInt16LE(entry + 6)];
    const within = Number(table.readBigUInt64LE(entry + 8)) - (section?.address ?? 0);
    if (section?.type === SHT_PROGBITS && within >= 0 && within + 4 <= section.size) found.push(section.offset + within);
  }
  return found;
}

function readSections(path: string): Section[] {
  const header = readBytes(path, 0, HEADER_BYTES);
  if (header.toString("latin1", 0, 6) !== "\x7fELF\x02\x01" || header.readUInt16LE(58) !== SECTION_BYTES) return [];
  const [offset, count] = [Number(header.readBigUInt64LE(40)), header.readUInt16LE(60)];
  if (offset + count * SECTION_BYTES > statSync(path).size) return [];
  const table = readBytes(path, offset, count * SECTION_BYTES);
  return Array.from({ length: count }, (_, i) => {
    const entry = table.subarray(i * SECTION_BYTES);
    const numberAt = (at: number) => Number(entry.readBigUInt64LE(at));
    return { type: entry.readUInt32LE(4), address: numberAt(16), offset: numberAt(24), size: numberAt(32), link: entry.readUInt32LE(40) };
  });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
