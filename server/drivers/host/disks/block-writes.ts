import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

// The parts of a block device that were written since the last look, from the kernel's event trace. A part is reported when its write
// has ended, so that a reader sees the new content.
export interface BlockWrites extends Disposable {
  // undefined: the kernel has dropped events, so anything may have been written.
  takeWritten(): ByteRange[] | undefined;
}

export interface ByteRange {
  offset: number;
  length: number;
}

const INSTANCES = "/sys/kernel/tracing/instances";
const BUFFER_KIB = 8192;
const SECTOR_BYTES = 512;
const READ_BYTES = 64 * 1024;
// Such as "block_rq_complete: 7,3 WS () 2064 + 8 none,0,0 [0]".
const EVENT = /block_rq_complete: \d+,\d+ (\w+) \(.*?\) (\d+) \+ (\d+) /;

// Follows the writes to a device with this number, such as 7:3. undefined if the kernel does not offer that here.
export function watchBlockWrites(device: string, name: string): BlockWrites | undefined {
  const instance = instanceOf(name);
  const [major = 0, minor = 0] = device.split(":").map(Number);
  try {
    endWatch(name);
    mkdirSync(instance);
    const event = join(instance, "events/block/block_rq_complete");
    writeFileSync(join(instance, "buffer_size_kb"), String(BUFFER_KIB));
    writeFileSync(join(event, "filter"), `dev == ${major * 2 ** 20 + minor}`);
    writeFileSync(join(event, "enable"), "1");
    return createReader(instance);
  } catch {
    endWatch(name);
    return undefined;
  }
}

// Ends a watch that a server left when it died. No-op if there is none.
export function endWatch(name: string): void {
  if (existsSync(instanceOf(name))) rmdirSync(instanceOf(name));
}

const instanceOf = (name: string) => join(INSTANCES, `berth-${name}`);

function createReader(instance: string): BlockWrites {
  const pipe = openSync(join(instance, "trace_pipe"), constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(READ_BYTES);

  function readAll(): string {
    const parts: string[] = [];
    for (;;) {
      try {
        const bytes = readSync(pipe, buffer);
        if (bytes === 0) return parts.join("");
        parts.push(buffer.toString("latin1", 0, bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return parts.join("");
        throw error;
      }
    }
  }

  return {
    takeWritten() {
      const text = readAll();
      return /\[LOST \d+ EVENTS\]/.test(text) || hasDropped(instance) ? undefined : mergeRanges(parseWrites(text));
    },
    [Symbol.dispose]() {
      closeSync(pipe);
      writeFileSync(join(instance, "events/block/block_rq_complete/enable"), "0");
      rmdirSync(instance);
    },
  };
}

// The kernel counts what it could not store.
function hasDropped(instance: string): boolean {
  const folder = join(instance, "per_cpu");
  const stats = readdirSync(folder).map((cpu) => readFileSync(join(folder, cpu, "stats"), "utf8"));
  return stats.some((text) => !/^overrun: 0$/m.test(text) || !/^dropped events: 0$/m.test(text));
}

// Reads change nothing, and a discarded part belongs to no file.
const parseWrites = (text: string): ByteRange[] =>
  text.split("\n").flatMap((line) => {
    const [, kind = "R", sector = "0", count = "0"] = EVENT.exec(line) ?? [];
    const isWrite = !kind.startsWith("R") && !kind.startsWith("D") && Number(count) > 0;
    return isWrite ? [{ offset: Number(sector) * SECTOR_BYTES, length: Number(count) * SECTOR_BYTES }] : [];
  });

export function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const merged: ByteRange[] = [];
  for (const { offset, length } of ranges.toSorted((a, b) => a.offset - b.offset)) {
    const last = merged.at(-1);
    if (last && offset <= last.offset + last.length) last.length = Math.max(last.length, offset + length - last.offset);
    else merged.push({ offset, length });
  }
  return merged;
}
