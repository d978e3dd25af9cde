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

const BLOCK_BYTES = 32 * 1024;

// Memory is taken block by block as it is needed: most terminals never fill theirs.
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

  // The pieces of blocks that hold `size` bytes from `offset`: where each begins, and how much came before it.
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
