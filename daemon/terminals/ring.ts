// A ring buffer with the last part of a byte stream, addressed by offsets from the start of the stream.
export interface Ring {
  // The readable range.
  readonly start: number;
  readonly end: number;
  write(chunk: Uint8Array): void;
  // Forgets the output before `offset`.
  dropBefore(offset: number): void;
  // Copies up to `maxBytes` from `offset`, which must be between `start` and `end`.
  read(offset: number, maxBytes: number): Buffer;
  // Copies from `offset` into `target` and returns the number of bytes.
  readInto(target: Buffer, offset: number): number;
}

const BLOCK_BYTES = 32 * 1024;

// Allocates blocks on demand, because most terminals never fill their buffer.
export function createRing(capacity: number, startOffset = 0): Ring {
  const blocks: Buffer[] = [];
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
      const kept = chunk.subarray(Math.max(0, chunk.length - capacity));
      end += chunk.length;
      visit(end - kept.length, kept.length, (block, at, done, size) => block.set(kept.subarray(done, done + size), at));
      start = Math.max(start, end - capacity);
    },
    dropBefore(offset) {
      start = Math.max(start, Math.min(offset, end));
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

  function copyInto(target: Buffer, offset: number, size: number): void {
    visit(offset, size, (block, at, done, part) => void block.copy(target, done, at, at + part));
  }

  // Calls `use` for each piece of a block in the range of `size` bytes from `offset`. `at` is the position in the block, and
  // `done` the number of bytes in the pieces before it.
  function visit(offset: number, size: number, use: (block: Buffer, at: number, done: number, part: number) => void): void {
    for (let done = 0; done < size;) {
      const position = (offset + done) % capacity;
      const at = position % BLOCK_BYTES;
      const part = Math.min(size - done, BLOCK_BYTES - at, capacity - position);
      const block = (blocks[Math.floor(position / BLOCK_BYTES)] ??= Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, capacity)));
      use(block, at, done, part);
      done += part;
    }
  }
}
