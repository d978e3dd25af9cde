// A start-up snapshot, as Node 24 writes it (src/node_snapshotable.cc): a head, V8's snapshot with its size in front, what Node knows
// of the process, and the compiled code of all modules of Node, whether they are used or not. That code stays in memory.

// Modules that every daemon loads at its start, because V8's snapshot cannot have them (lazy-http.cjs). The code in the Node program is
// for other flags of V8, so without this one Node compiles them, which takes 7 ms.
export const LOADED_LATER = [
  "internal/http",
  "internal/freelist",
  "_http_agent",
  "_http_client",
  "_http_common",
  "_http_incoming",
  "_http_outgoing",
  "_http_server",
  "http",
];

// The size of V8's snapshot.
const SIZE_BYTES = 4;
// V8's snapshot names V8's version after four numbers.
const BEFORE_VERSION = 16;
// Before each vector, and before the name and the code of each module.
const COUNT_BYTES = 8;
const MAX_MODULES = 2000;
const MAX_NAME = 200;

// Where the code of a module names the flags with which V8 has compiled it.
export const CODE_FLAGS_AT = 12;

// glibc puts two numbers before a piece of memory as large as this one, which begins with a page.
export const CHUNK_HEAD_BYTES = 16;

// Returns the snapshot with the code of no other modules of Node, and V8's part of it as it lies in the memory of a process
// (share-heap.ts). V8 takes code only if it was compiled with the flags of the process. That of these modules was compiled with one more
// (rehearse-start.ts), which decides when a function is compiled and does not change its code. So it gets the number of the others.
export function splitSnapshot(file: Buffer, codeFlags: number): { snapshot: Buffer; heap: Buffer } {
  const begin = file.indexOf(process.versions.v8) - BEFORE_VERSION;
  const size = begin < SIZE_BYTES ? 0 : file.readInt32LE(begin - SIZE_BYTES);
  const end = begin + size;
  if (size <= 0 || end >= file.length) throw new Error("This version of Node writes snapshots in another format");
  const heap = Buffer.concat([Buffer.alloc(CHUNK_HEAD_BYTES), file.subarray(begin, end)]);
  const modules = findModules(file, end);
  const kept = [...readModules(file, modules)].filter(({ name }) => LOADED_LATER.includes(name));
  if (kept.length !== LOADED_LATER.length) throw new Error("This version of Node has other modules for HTTP");
  for (const { code } of kept) code.writeUInt32LE(codeFlags, CODE_FLAGS_AT);
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt32LE(kept.length);
  return { heap, snapshot: Buffer.concat([file.subarray(0, modules), count, ...kept.map(({ bytes }) => bytes)]) };
}

// The code of each module, with its name in front.
function* readModules(file: Buffer, from: number): Generator<{ name: string; bytes: Buffer; code: Buffer }> {
  let offset = from + COUNT_BYTES;
  while (offset < file.length) {
    const nameAt = offset + COUNT_BYTES;
    const codeAt = nameAt + readCount(file, offset);
    const end = codeAt + COUNT_BYTES + readCount(file, codeAt);
    const code = file.subarray(codeAt + COUNT_BYTES, end);
    yield { name: file.toString("latin1", nameAt, codeAt), bytes: file.subarray(offset, end), code };
    offset = end;
  }
}

// Where the vector of modules begins, which is the last part of the file.
function findModules(file: Buffer, from: number): number {
  for (let offset = from; offset < file.length - COUNT_BYTES; offset++) {
    const count = readCount(file, offset);
    if (count > 0 && count <= MAX_MODULES && endOfModules(file, offset + COUNT_BYTES, count) === file.length) return offset;
  }
  throw new Error("This version of Node writes the code of its modules into snapshots in another format");
}

function endOfModules(file: Buffer, from: number, count: number): number {
  let offset = from;
  for (let module = 0; module < count; module++) {
    const name = readCount(file, offset);
    if (name === 0 || name > MAX_NAME) return -1;
    offset += COUNT_BYTES + name;
    offset += COUNT_BYTES + readCount(file, offset);
  }
  return offset;
}

// Infinity past the end.
function readCount(file: Buffer, offset: number): number {
  return offset + COUNT_BYTES > file.length ? Infinity : Number(file.readBigUInt64LE(offset));
}
