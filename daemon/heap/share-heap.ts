import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Library, loadKoffi } from "../../native/koffi.ts";

// Of Linux, the same for x64 and arm64.
const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_PRIVATE = 2;
const MAP_FIXED = 16;

// Node keeps V8's snapshot in memory after the start, although nothing reads it again: 3 MB in every sandbox. This puts the pages of a
// file with the same bytes in their place (daemon.heap, see build.ts), which all daemons of a machine share. Does nothing where that is
// not possible.
export function shareHeap(): void {
  withLibrary((library) => {
    const fd = openSync(join(import.meta.dirname, "daemon.heap"), "r");
    try {
      replacePages(library, fd);
    } finally {
      closeSync(fd);
    }
  });
  trimMemory();
}

// Returns memory that the C library does not need, if it can.
export function trimMemory(): void {
  withLibrary((library) => void library.func("int malloc_trim(size_t pad)")(0));
}

function withLibrary(work: (library: Library) => void): void {
  try {
    work(loadKoffi().load(null));
  } catch {
    // No koffi, no file to share, or a C library that is not glibc.
  }
}

// The file begins with what the C library keeps in front of the snapshot, so both have the same places in their pages.
function replacePages(library: Library, fd: number): void {
  const mmap = library.func("intptr_t mmap(uintptr_t start, size_t bytes, int protection, int flags, int fd, int64_t offset)");
  const munmap = library.func("int munmap(uintptr_t start, size_t bytes)");
  const memcmp = library.func("int memcmp(uintptr_t one, uintptr_t other, size_t bytes)");
  const page = library.func("int getpagesize()")();
  const { size } = fstatSync(fd);
  // Without the first page, which belongs to the C library, and the last, which has more than the snapshot.
  const bytes = Math.floor(size / page) * page - page;
  if (bytes <= 0) return;
  const copy = mmap(0, bytes, PROT_READ, MAP_PRIVATE, fd, page);
  if (copy === -1) return;
  const found = anonymousMappings().find(
    ({ start, end }) => end - start >= size && end - start <= size + 2 * page && memcmp(copy, start + page, bytes) === 0,
  );
  munmap(copy, bytes);
  if (found) mmap(found.start + page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, page);
}

// Memory of this process that is no file's.
function anonymousMappings(): { start: number; end: number }[] {
  const lines = readFileSync("/proc/self/maps", "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, start = "", end = ""] = /^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *$/.exec(line) ?? [];
    return start === "" ? [] : [{ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) }];
  });
}
