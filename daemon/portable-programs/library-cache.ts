import { NotPortable } from "./not-portable.ts";

// Where sandboxes see the folder that build.ts makes.
export const MOUNTED = "/opt/berth";

// The flags of an entry: a library of glibc, and its architecture (FLAG_ELF_LIBC6 and the ABI in dl-cache.h).
const FLAGS: Partial<Record<NodeJS.Architecture, number>> = { x64: 0x0303, arm64: 0x0a03 };
const [HEADER_BYTES, ENTRY_BYTES] = [48, 24];
const LITTLE_ENDIAN = 2;

// The list of libraries in the format of glibc (struct cache_file_new in dl-cache.h), as ldconfig writes it.
export function libraryCache(names: readonly string[], architecture: NodeJS.Architecture = process.arch): Buffer {
  const flags = FLAGS[architecture];
  if (flags === undefined) throw new NotPortable(`the format of ld.so.cache is not known for ${architecture}`);
  // The loader searches the list from the largest name to the smallest.
  const sorted = names.toSorted((left, right) => compareNames(right, left));
  const textsAt = HEADER_BYTES + sorted.length * ENTRY_BYTES;
  const head = Buffer.alloc(textsAt);
  const texts: Buffer[] = [];
  let end = textsAt;
  const add = (text: string): number => {
    const bytes = Buffer.from(`${text}\0`);
    texts.push(bytes);
    end += bytes.length;
    return end - bytes.length;
  };
  sorted.forEach((name, i) => {
    const entry = HEADER_BYTES + i * ENTRY_BYTES;
    head.writeInt32LE(flags, entry);
    head.writeUInt32LE(add(name), entry + 4);
    head.writeUInt32LE(add(`${MOUNTED}/lib/${name}`), entry + 8);
  });
  head.write("glibc-ld.so.cache1.1", "latin1");
  head.writeUInt32LE(sorted.length, 20);
  head.writeUInt32LE(end - textsAt, 24);
  head.writeUInt8(LITTLE_ENDIAN, 28);
  return Buffer.concat([head, ...texts]);
}

// Like _dl_cache_libcmp of glibc: numbers by their value, and above other characters.
function compareNames(left: string, right: string): number {
  const [lefts, rights] = [partsOf(left), partsOf(right)];
  for (let i = 0; i < Math.min(lefts.length, rights.length); i++) {
    const [a, b] = [lefts[i]!, rights[i]!];
    const [isNumber, isOtherNumber] = [a, b].map((part) => /\d/.test(part));
    if (isNumber !== isOtherNumber) return isNumber ? 1 : -1;
    const difference = isNumber ? Number(a) - Number(b) : a.charCodeAt(0) - b.charCodeAt(0);
    if (difference !== 0) return difference;
  }
  return lefts.length - rights.length;
}

const partsOf = (name: string): string[] => name.match(/\d+|\D/g) ?? [];
