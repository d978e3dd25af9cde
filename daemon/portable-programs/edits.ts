import { closeSync, openSync, readSync, writeSync } from "node:fs";

// Bytes of a program that replace others in place.
export interface Edit {
  offset: number;
  bytes: Buffer;
}

export function applyEdits(path: string, edits: readonly Edit[]): void {
  const file = openSync(path, "r+");
  try {
    for (const { offset, bytes } of edits) writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

export function hasEdits(path: string, edits: readonly Edit[]): boolean {
  return edits.every(({ offset, bytes }) => readBytes(path, offset, bytes.length).equals(bytes));
}

// Bytes past the end of the file are zero.
export function readBytes(path: string, offset: number, size: number): Buffer {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(size);
    readSync(file, bytes, 0, size, offset);
    return bytes;
  } finally {
    closeSync(file);
  }
}
