import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

// Where sandboxes see the folder that build.ts makes.
const MOUNTED = "/opt/berth";
const LOADER = `${MOUNTED}/lib/ld.so`;

export interface CarriedPrograms {
  // Maps names to paths.
  programs: ReadonlyMap<string, string>;
  // Libraries that these programs load.
  addons: readonly string[];
  // The folder of the last build.
  previous: string;
}

// Copies programs of this machine so that they run in any image, also in one without a C library. The kernel starts a program with
// the loader that the program names. Each copy names our loader, which is this machine's, except that it reads the list of
// libraries (ld.so.cache) from our folder. So the copies find our libraries, and the programs that they start find those of the
// image: there is no variable that they inherit. Each text is replaced in place by one that is not longer, so nothing moves.
//
// If this machine's files do not allow it, nothing is copied, and `reason` says why. The images of
// sandboxes then need what this machine's programs need.
export function carryPrograms(folder: string, { programs, addons, previous }: CarriedPrograms): { reason?: string } {
  mkdirSync(join(folder, "lib"), { recursive: true });
  const shell = realpathSync("/bin/sh");
  try {
    const wanted = [...[...programs].map(([name, path]) => ({ target: `bin/${name}`, path })), { target: "lib/sh", path: shell }].map(
      ({ target, path }) => ({ target, path, named: findLoader(path) }),
    );
    const loader = wanted.find(({ named }) => named)?.named?.path;
    if (loader === undefined) throw new NotPortable("this machine's programs name no loader");
    const dynamic = wanted.filter(({ named }) => named).map(({ path }) => path);
    const libraries = findLibraries(loader, [...dynamic, ...addons]);
    const files = { "lib/ld.so": useOwnFiles(readFileSync(loader)), cache: libraryCache([...libraries.keys()]) };
    for (const [name, path] of libraries) copyFileSync(path, join(folder, "lib", name));
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes, { mode: 0o755 });
    for (const { target, path, named } of wanted) copyProgram({ path, named, target: join(folder, target), kept: join(previous, target) });
    return {};
  } catch (error) {
    if (!(error instanceof NotPortable)) throw error;
    symlinkSync("/bin/sh", join(folder, "lib/sh"));
    return { reason: error.message };
  }
}

class NotPortable extends Error {}

const PT_INTERP = 3;
const HEADERS_BYTES = 64 * 1024;

interface NamedLoader {
  path: string;
  // Where the program has its name.
  offset: number;
  size: number;
}

// The loader that a program names; undefined for a static one. Reads the program headers of a 64-bit little-endian ELF file, the format
// of both architectures that we know.
function findLoader(path: string): NamedLoader | undefined {
  const file = openSync(path, "r");
  try {
    const headers = Buffer.alloc(HEADERS_BYTES);
    readSync(file, headers, 0, HEADERS_BYTES, 0);
    if (headers.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") throw new NotPortable(`${path} is not a 64-bit program`);
    const table = Number(headers.readBigUInt64LE(32));
    const [entrySize, count] = [headers.readUInt16LE(54), headers.readUInt16LE(56)];
    for (let entry = table; entry < table + entrySize * count; entry += entrySize) {
      if (headers.readUInt32LE(entry) !== PT_INTERP) continue;
      const [offset, size] = [Number(headers.readBigUInt64LE(entry + 8)), Number(headers.readBigUInt64LE(entry + 32))];
      if (LOADER.length >= size) throw new NotPortable(`${path} has no room for the path of another loader`);
      const name = Buffer.alloc(size);
      readSync(file, name, 0, size, offset);
      return { path: name.toString("latin1").replace(/\0.*$/s, ""), offset, size };
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}

interface ProgramCopy {
  path: string;
  named: NamedLoader | undefined;
  target: string;
  // The copy of the last build. It may not exist.
  kept: string;
}

// A copy has the time of its original, so that the next build can see whether it is current. These programs are large.
function copyProgram({ path, named, target, kept }: ProgramCopy): void {
  const { size, atime, mtime } = statSync(path);
  const last = statSync(kept, { throwIfNoEntry: false });
  if (last?.size === size && sameSecond(last.mtime, mtime) && findLoader(kept)?.path === (named && LOADER)) return linkSync(kept, target);
  copyFileSync(path, target, constants.COPYFILE_FICLONE);
  chmodSync(target, 0o755);
  if (named) overwrite(target, named.offset, Buffer.concat([Buffer.from(LOADER)], named.size));
  utimesSync(target, atime, mtime);
}

const sameSecond = (left: Date, right: Date): boolean => Math.trunc(left.getTime() / 1000) === Math.trunc(right.getTime() / 1000);

function overwrite(path: string, offset: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  try {
    writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

// A library that the image preloads everywhere was made for the image's C library, so there is no such list for our loader.
const LOADER_FILES = { "/etc/ld.so.cache\0": `${MOUNTED}/cache\0`, "/etc/ld.so.preload\0": `${MOUNTED}/preload\0` };

function useOwnFiles(loader: Buffer): Buffer {
  for (const [text, replacement] of Object.entries(LOADER_FILES)) {
    const offset = loader.indexOf(text);
    if (offset < 0 || replacement.length > text.length) throw new NotPortable(`this machine's loader does not read ${text.slice(0, -1)}`);
    for (let at = offset; at >= 0; at = loader.indexOf(text, at + 1)) loader.write(replacement, at, "latin1");
  }
  return loader;
}

// Parts of the C library know each other's internals, so all of them come from the same machine, also those that only a package of a
// user may load.
const C_LIBRARY =
  "libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2 libanl.so.1 libmvec.so.1 libnss_files.so.2 libnss_dns.so.2";

// Maps the names of libraries to their files on this machine.
function findLibraries(loader: string, programs: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const program of programs) {
    const listed = execFileSync(loader, ["--list", program], { encoding: "utf8", env: {} });
    for (const [, name, path] of listed.matchAll(/^\s*(\S+) => (\/.+) \(0x/gm)) found.set(name!, baseline(path!));
  }
  const libc = found.get("libc.so.6");
  if (libc === undefined) throw new NotPortable("this machine's C library is not the GNU C library");
  for (const name of C_LIBRARY.split(" ")) if (existsSync(join(dirname(libc), name))) found.set(name, join(dirname(libc), name));
  return new Map([...found].filter(([name]) => name !== basename(loader)));
}

// The loader prefers libraries for this machine's processor, and sandboxes may run on an older one.
const baseline = (path: string): string => {
  const general = path.replace(/\/glibc-hwcaps\/[^/]+(?=\/)/, "");
  return existsSync(general) ? general : path;
};

// What the loader's entries begin with: the kind of library for each architecture (FLAG_ELF_LIBC6 and the ABI in dl-cache.h).
const KINDS: Partial<Record<NodeJS.Architecture, number>> = { x64: 0x0303, arm64: 0x0a03 };
const [HEADER_BYTES, ENTRY_BYTES] = [48, 24];
const LITTLE_ENDIAN = 2;

// The list of libraries in the format of glibc (struct cache_file_new in dl-cache.h), as ldconfig writes it.
export function libraryCache(names: readonly string[], architecture: NodeJS.Architecture = process.arch): Buffer {
  const kind = KINDS[architecture];
  if (kind === undefined) throw new NotPortable(`the format of ld.so.cache is not known for ${architecture}`);
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
    head.writeInt32LE(kind, entry);
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
