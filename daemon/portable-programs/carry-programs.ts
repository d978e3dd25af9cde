import { execFileSync } from "node:child_process";
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ignoreDeadlocks } from "./deadlock-detection.ts";
import { applyEdits, type Edit, hasEdits } from "./edits.ts";
import { libraryCache, MOUNTED } from "./library-cache.ts";
import { findLoader, replaceLoader, type NamedLoader } from "./named-loader.ts";
import { NotPortable } from "./not-portable.ts";

const LOADER = `${MOUNTED}/lib/ld.so`;

export interface CarriedPrograms {
  // Maps names to paths.
  programs: ReadonlyMap<string, string>;
  // Libraries that these programs load.
  addons: readonly string[];
  // The folder of the last build.
  previous: string;
}

// Copies programs of this machine so that they run in any image, even in one without a C library. The kernel starts a program with
// the loader that the program names. Each copy names our loader, which is this machine's, except that it reads the list of
// libraries (ld.so.cache) from our folder. So the copies find our libraries, and the programs that they start find those of the
// image: there is no variable that they inherit. Each text is replaced in place by one that is not longer, so nothing moves.
//
// Node's copy also does not look for deadlocks (deadlock-detection.ts).
//
// If this machine's files do not allow it, nothing is copied, and `reason` says why. The images of sandboxes then need what this
// machine's programs need.
export function carryPrograms(folder: string, { programs, addons, previous }: CarriedPrograms): { reason?: string } {
  mkdirSync(join(folder, "lib"), { recursive: true });
  const shell = realpathSync("/bin/sh");
  try {
    const wanted = [...[...programs].map(([name, path]) => ({ target: `bin/${name}`, path })), { target: "lib/sh", path: shell }].map(
      ({ target, path }) => ({ target, path, named: findReplaceable(path) }),
    );
    const loader = wanted.find(({ named }) => named)?.named?.path;
    if (loader === undefined) throw new NotPortable("this machine's programs name no loader");
    const dynamic = wanted.filter(({ named }) => named).map(({ path }) => path);
    const libraries = findLibraries(loader, [...dynamic, ...addons]);
    const files = { "lib/ld.so": useOwnFiles(readFileSync(loader)), cache: libraryCache([...libraries.keys()]) };
    for (const [name, path] of libraries) copyFileSync(path, join(folder, "lib", name));
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes, { mode: 0o755 });
    for (const { target, path, named } of wanted) {
      const detection = target === "bin/node" ? ignoreDeadlocks(path) : undefined;
      const edits = [...(named ? [replaceLoader(named, LOADER)] : []), ...(detection ? [detection] : [])];
      copyProgram({ path, edits, target: join(folder, target), kept: join(previous, target) });
    }
    return {};
  } catch (error) {
    if (!(error instanceof NotPortable)) throw error;
    symlinkSync("/bin/sh", join(folder, "lib/sh"));
    return { reason: error.message };
  }
}

function findReplaceable(program: string): NamedLoader | undefined {
  const named = findLoader(program);
  if (named && LOADER.length >= named.size) throw new NotPortable(`${program} has no room for the path of another loader`);
  return named;
}

interface ProgramCopy {
  path: string;
  edits: Edit[];
  target: string;
  // The copy of the last build. It may not exist.
  kept: string;
}

// A copy has the time of its original, so that the next build can see whether it is current. These programs are large.
function copyProgram({ path, edits, target, kept }: ProgramCopy): void {
  const { size, atime, mtime } = statSync(path);
  const last = statSync(kept, { throwIfNoEntry: false });
  if (last?.size === size && sameSecond(last.mtime, mtime) && hasEdits(kept, edits)) return linkSync(kept, target);
  copyFileSync(path, target, constants.COPYFILE_FICLONE);
  chmodSync(target, 0o755);
  applyEdits(target, edits);
  utimesSync(target, atime, mtime);
}

const sameSecond = (left: Date, right: Date): boolean => Math.trunc(left.getTime() / 1000) === Math.trunc(right.getTime() / 1000);

// Our loader reads these instead. The second does not exist: libraries that the image preloads were made for the image's C library.
const LOADER_FILES = { "/etc/ld.so.cache\0": `${MOUNTED}/cache\0`, "/etc/ld.so.preload\0": `${MOUNTED}/preload\0` };

function useOwnFiles(loader: Buffer): Buffer {
  for (const [text, replacement] of Object.entries(LOADER_FILES)) {
    const offset = loader.indexOf(text);
    if (offset < 0 || replacement.length > text.length) throw new NotPortable(`this machine's loader does not read ${text.slice(0, -1)}`);
    for (let at = offset; at >= 0; at = loader.indexOf(text, at + 1)) loader.write(replacement, at, "latin1");
  }
  return loader;
}

// Parts of the C library know each other's internals, so all of them come from this machine, including those that only a
// user's package may load.
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
