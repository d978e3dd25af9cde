import { JsonFault } from "./json-value.ts";

export const MAX_DEPTH = 128;
export const MAX_TEXT_BYTES = 128;
const MAX_FIELDS = 128;

// The names of the fields that a scanner has read, for each open container: the current one, to describe the path to a value,
// and the hashes of all of them, to find duplicates. The memory is fixed.
export interface FieldNames {
  // The name of the current field on each level, MAX_TEXT_BYTES apart.
  readonly bytes: Buffer;
  // Starts a container on this level.
  open(level: number, isObject: boolean): void;
  setLength(level: number, length: number): void;
  // Throws a JsonFault if the container has the field already, or too many fields.
  add(level: number, hash: number): void;
  // The names that lead to the current value, joined by dots.
  path(depth: number): string;
}

export function createFieldNames(): FieldNames {
  const bytes = Buffer.alloc(MAX_DEPTH * MAX_TEXT_BYTES);
  const lengths = new Uint8Array(MAX_DEPTH);
  const isObjectAt = new Uint8Array(MAX_DEPTH);
  const counts = new Uint8Array(MAX_DEPTH);
  const hashes = new Int32Array(MAX_DEPTH * MAX_FIELDS);

  function path(depth: number): string {
    const parts: string[] = [];
    for (let level = 0; level < depth; level++) {
      const start = level * MAX_TEXT_BYTES;
      if (isObjectAt[level] === 1) parts.push(bytes.toString("latin1", start, start + lengths[level]!));
    }
    return parts.filter((part) => part !== "").join(".");
  }

  return {
    bytes,
    open(level, isObject) {
      isObjectAt[level] = isObject ? 1 : 0;
      counts[level] = 0;
      lengths[level] = 0;
    },
    setLength(level, length) {
      lengths[level] = length;
    },
    add(level, hash) {
      const start = level * MAX_FIELDS;
      const count = counts[level]!;
      // A hash collision of two names would be refused too. The field names of the providers do not collide.
      for (let i = start; i < start + count; i++)
        if (hashes[i] === hash) throw new JsonFault(`the field "${path(level + 1)}" occurs twice`);
      if (count === MAX_FIELDS) throw new JsonFault(`there are more than ${MAX_FIELDS} fields next to "${path(level + 1)}"`);
      hashes[start + count] = hash;
      counts[level] = count + 1;
    },
    path,
  };
}
