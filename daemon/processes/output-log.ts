import type { ProcessStream } from "@berth/contract/daemon/processes.ts";

// The last part of a program's output, in the order of its arrival. Offsets count from the start of the output, or from the start of one
// of its streams.
export interface OutputLog {
  // The readable range.
  readonly start: number;
  readonly end: number;
  // The memory that it occupies.
  readonly size: number;
  write(stream: ProcessStream, chunk: Uint8Array): void;
  // The output from `offset`, up to the next byte of the other stream. null at the end. The bytes are valid until the next write.
  read(offset: number): { stream: ProcessStream; offset: number; bytes: Uint8Array } | null;
  // All that is kept of one stream from `offset`, or of both.
  collect(stream: ProcessStream | null, offset: number): Collected;
  // Forgets the oldest part of the output.
  drop(): void;
  // Forgets all of it.
  clear(): void;
}

export interface Collected {
  bytes: Buffer;
  offset: number;
  // The bytes of this stream that are no longer kept.
  dropped: number;
}

interface Block {
  stream: ProcessStream;
  // The offsets of its first byte.
  at: number;
  streamAt: number;
  memory: Uint8Array<ArrayBuffer>;
  length: number;
}

const MIN_BLOCK_BYTES = 64;
const MAX_BLOCK_BYTES = 32 * 1024;
// Without it, output that changes between the streams with every byte would occupy far more than is counted.
const BLOCK_OVERHEAD_BYTES = 256;

export function createOutputLog(maxSize: number, startOffset = 0): OutputLog {
  const blocks: Block[] = [];
  const ends = { stdout: 0, stderr: 0 };
  let end = startOffset;
  let size = 0;

  const log: OutputLog = {
    get start() {
      return blocks[0]?.at ?? end;
    },
    get end() {
      return end;
    },
    get size() {
      return size;
    },
    write(stream, chunk) {
      for (let done = 0; done < chunk.length;) {
        const block = blockWithRoom(stream, chunk.length - done);
        const part = chunk.subarray(done, done + block.memory.length - block.length);
        block.memory.set(part, block.length);
        block.length += part.length;
        done += part.length;
        end += part.length;
        ends[stream] += part.length;
      }
      while (size > maxSize) log.drop();
    },
    read(offset) {
      const from = Math.max(offset, log.start);
      const block = blocks.findLast(({ at }) => at <= from);
      if (!block || from >= block.at + block.length) return null;
      return { stream: block.stream, offset: from, bytes: block.memory.subarray(from - block.at, block.length) };
    },
    clear() {
      while (blocks.length > 0) log.drop();
    },
    collect(stream, offset) {
      const kept = blocks.filter((block) => stream === null || block.stream === stream);
      const placeOf = (block: Block) => (stream === null ? block.at : block.streamAt);
      const dropped = kept[0] ? placeOf(kept[0]) : stream === null ? end : ends[stream];
      const from = Math.max(offset, dropped);
      const parts = kept.map((block) => block.memory.subarray(Math.max(0, from - placeOf(block)), block.length));
      return { bytes: Buffer.concat(parts), offset: from, dropped };
    },
    drop() {
      const first = blocks.shift();
      if (!first) return;
      size -= first.memory.length + BLOCK_OVERHEAD_BYTES;
      // Frees the memory now. V8 collects buffers late, because it sees only their small heads.
      first.memory.buffer.transfer(0);
    },
  };
  return log;

  // Blocks grow, because most programs write little.
  function blockWithRoom(stream: ProcessStream, wanted: number): Block {
    const last = blocks.at(-1);
    if (last?.stream === stream && last.length < last.memory.length) return last;
    const grown = last?.stream === stream ? last.memory.length * 2 : MIN_BLOCK_BYTES;
    const memory = new Uint8Array(Math.min(MAX_BLOCK_BYTES, Math.max(grown, wanted)));
    const block = { stream, at: end, streamAt: ends[stream], memory, length: 0 };
    blocks.push(block);
    size += memory.length + BLOCK_OVERHEAD_BYTES;
    return block;
  }
}
