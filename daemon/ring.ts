// The last part of a stream of bytes, addressed by offsets that count from the stream's beginning.
export interface Ring {
  // What can be read lies from `start` to `end`.
  readonly start: number;
  readonly end: number;
  write(chunk: Uint8Array): void;
  // A copy of up to `maxBytes` from `offset`, which must lie between start and end.
  read(offset: number, maxBytes: number): Buffer;
  // Fills `target` from `offset` as far as there is something and says how much it was.
  readInto(target: Buffer, offset: number): number;
}

const FIRST_BYTES = 16 * 1024;

// Memory is taken as it is needed: most terminals never fill theirs.
export function createRing(capacity: number, startOffset = 0): Ring {
  let buffer = Buffer.allocUnsafe(Math.min(FIRST_BYTES, capacity));
  let start = startOffset;
  let end = startOffset;

  return {
    get start() {
      return start;
    },
    get end() {
      return end;
    },
    write(chunk) {
      makeRoom(end - start + chunk.length);
      const kept = chunk.length > buffer.length ? chunk.subarray(chunk.length - buffer.length) : chunk;
      end += chunk.length;
      const at = (end - kept.length) % buffer.length;
      const first = Math.min(kept.length, buffer.length - at);
      buffer.set(kept.subarray(0, first), at);
      buffer.set(kept.subarray(first), 0);
      start = Math.max(start, end - buffer.length);
    },
    read(offset, maxBytes) {
      const copied = Buffer.allocUnsafe(Math.min(end - offset, maxBytes));
      copyInto(copied, offset, copied.length);
      return copied;
    },
    readInto(target, offset) {
      const size = Math.min(end - offset, target.length);
      copyInto(target, offset, size);
      return size;
    },
  };

  function makeRoom(wanted: number): void {
    if (wanted <= buffer.length || buffer.length === capacity) return;
    const old = Buffer.allocUnsafe(end - start);
    copyInto(old, start, old.length);
    let size = buffer.length;
    while (size < wanted && size < capacity) size *= 2;
    buffer = Buffer.allocUnsafe(Math.min(size, capacity));
    for (const [index, byte] of old.entries()) buffer[(start + index) % buffer.length] = byte;
  }

  function copyInto(target: Buffer, offset: number, size: number): void {
    const at = offset % buffer.length;
    const first = Math.min(size, buffer.length - at);
    buffer.copy(target, 0, at, at + first);
    buffer.copy(target, first, 0, size - first);
  }
}
