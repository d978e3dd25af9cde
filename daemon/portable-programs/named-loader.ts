import { type Edit, readBytes } from "./edits.ts";
import { NotPortable } from "./not-portable.ts";

const PT_INTERP = 3;
const HEADERS_BYTES = 64 * 1024;

export interface NamedLoader {
  path: string;
  // The place of this path in the program, and the bytes there, with the zero at its end.
  offset: number;
  size: number;
}

// The loader that a program names; undefined for a static one. Reads the program headers of a 64-bit little-endian ELF file, the format
// of both architectures that we know.
export function findLoader(path: string): NamedLoader | undefined {
  const headers = readBytes(path, 0, HEADERS_BYTES);
  if (headers.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") throw new NotPortable(`${path} is not a 64-bit program`);
  const table = Number(headers.readBigUInt64LE(32));
  const [entrySize, count] = [headers.readUInt16LE(54), headers.readUInt16LE(56)];
  for (let entry = table; entry < table + entrySize * count; entry += entrySize) {
    if (headers.readUInt32LE(entry) !== PT_INTERP) continue;
    const [offset, size] = [Number(headers.readBigUInt64LE(entry + 8)), Number(headers.readBigUInt64LE(entry + 32))];
    return { path: readBytes(path, offset, size).toString("latin1").replace(/\0.*$/s, ""), offset, size };
  }
  return undefined;
}

// Another path in the place of the loader's. It is shorter than `size`.
export function replaceLoader({ offset, size }: NamedLoader, loader: string): Edit {
  return { offset, bytes: Buffer.concat([Buffer.from(loader)], size) };
}
