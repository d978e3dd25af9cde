import type { Table } from "./syscalls.ts";

// A 32-bit program of a few hundred bytes that makes system calls and prints their results, so that the tests need no compiler.
// Each of `calls` is a number and up to five arguments. A Buffer is stored in the program and passed by its address.
export function makeProgram(table: Table, calls: readonly (readonly (number | Buffer)[])[]): Buffer {
  const { machine, flags, code } = PROGRAMS[table === "arm" ? "arm" : "x86"];
  const entries = BASE + HEADERS_BYTES + code(0, 0).length;
  const printedBytes = calls.length * ENTRY_BYTES;
  const data: Buffer[] = [];
  let end = entries + printedBytes + WORD;
  const place = (bytes: Buffer) => {
    const address = end;
    data.push(bytes);
    end += bytes.length;
    return address;
  };
  const words = calls.flatMap((call) => Array.from({ length: ENTRY_BYTES / WORD }, (_, index) => call[index] ?? 0));
  const table32 = words.map((word) => (typeof word === "number" ? word : place(word)));
  const body = Buffer.concat([code(entries, printedBytes), little([...table32, END]), ...data]);
  return Buffer.concat([headers(machine, flags, body.length), body]);
}

// Reads the errno of each call from the program's output; 0 if it succeeded.
export function readAnswers(printed: Buffer): number[] {
  const answers = Array.from({ length: printed.length / ENTRY_BYTES }, (_, index) => printed.readInt32LE(index * ENTRY_BYTES));
  return answers.map((answer) => (answer < 0 ? -answer : 0));
}

const BASE = 0x10000;
const WORD = 4;
// The call's number, which its result replaces, and five arguments.
const ENTRY_BYTES = 6 * WORD;
const END = 0xffffffff;
const HEADERS_BYTES = 52 + 32;

const little = (words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(words.length * WORD);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, index * WORD);
  return bytes;
};

// An ELF file with one segment that may be read, written and executed.
function headers(machine: number, flags: number, bodyBytes: number): Buffer {
  const ident = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const size = HEADERS_BYTES + bodyBytes;
  const file = [2 | (machine << 16), 1, BASE + HEADERS_BYTES, 52, 0, flags, 52 | (32 << 16), 1 | (40 << 16), 0];
  return Buffer.concat([ident, little(file), little([1, 0, BASE, BASE, size, size, 7, 0x1000])]);
}

// Each makes the calls of the table at `entries` until END, prints the table and ends.
const PROGRAMS = {
  x86: {
    machine: 3,
    flags: 0,
    code: (entries: number, bytes: number) =>
      Buffer.concat([
        Buffer.from([0xbd]), // mov ebp, entries
        little([entries]),
        // next: mov eax, [ebp]; cmp eax, -1; je done; mov ebx, [ebp+4]; ecx, [ebp+8]; edx, [ebp+12]; esi, [ebp+16]; edi, [ebp+20]
        Buffer.from([
          0x8b, 0x45, 0, 0x83, 0xf8, 0xff, 0x74, 0x1d, 0x8b, 0x5d, 4, 0x8b, 0x4d, 8, 0x8b, 0x55, 12, 0x8b, 0x75, 16, 0x8b, 0x7d, 20,
        ]),
        // push ebp; xor ebp, ebp; int 0x80; pop ebp; mov [ebp], eax; add ebp, 24; jmp next
        Buffer.from([0x55, 0x31, 0xed, 0xcd, 0x80, 0x5d, 0x89, 0x45, 0, 0x83, 0xc5, ENTRY_BYTES, 0xeb, 0xdb]),
        // done: write(1, entries, bytes)
        Buffer.from([0xb8, 4, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0xb9]),
        little([entries]),
        Buffer.from([0xba]),
        little([bytes]),
        // int 0x80; exit(0)
        Buffer.from([0xcd, 0x80, 0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80]),
        Buffer.from([0x90]),
      ]),
  },
  arm: {
    machine: 40,
    // The ABI version that every current kernel supports.
    flags: 0x05000000,
    code: (entries: number, bytes: number) =>
      little([
        0xe59f804c, // ldr r8, entries
        0xe5987000, // next: ldr r7, [r8]
        0xe3770001, // cmn r7, #1
        0x0a000008, // beq done
        0xe5980004, // ldr r0, [r8, #4]
        0xe5981008, // ldr r1, [r8, #8]
        0xe598200c, // ldr r2, [r8, #12]
        0xe5983010, // ldr r3, [r8, #16]
        0xe5984014, // ldr r4, [r8, #20]
        0xef000000, // svc 0
        0xe5880000, // str r0, [r8]
        0xe2888018, // add r8, r8, #24
        0xeafffff3, // b next
        0xe3a07004, // done: mov r7, #4 (write)
        0xe3a00001, // mov r0, #1
        0xe59f1010, // ldr r1, entries
        0xe59f2010, // ldr r2, bytes
        0xef000000, // svc 0
        0xe3a07001, // mov r7, #1 (exit)
        0xe3a00000, // mov r0, #0
        0xef000000, // svc 0
        entries,
        bytes,
      ]),
  },
};
