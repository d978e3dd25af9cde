import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import type { ProcessEntry } from "../../host/process-table.ts";
import { privateMemoryOf } from "../../host/process-usage.ts";
import { DATA_RESERVE_BYTES } from "../bundle.ts";

// The memory limits of sandboxes without control groups.
export interface MemoryLimits {
  // `init` is the first process of the sandbox. undefined if something else limits its memory.
  of(id: string, init: number): number | undefined;
  // Until the next start.
  set(id: string, bytes: number): void;
  forget(id: string): void;
}

// The limit of a start is that of the first process, which the bundle has given to it. A later one is in a file, where the next server
// finds it. An ordinary user cannot raise the limit of a process that runs.
export function createMemoryLimits(sandboxesDir: string): MemoryLimits {
  const fileOf = (id: string) => join(sandboxesDir, id, "memory-limit");
  return {
    of(id, init) {
      const ofStart = readLimit(init, "data size")?.hardBytes;
      if (ofStart === undefined || ofStart === Infinity) return undefined;
      const changed = readFileIfReadable(fileOf(id));
      return changed === undefined ? ofStart - DATA_RESERVE_BYTES : Number(changed);
    },
    set: (id, bytes) => writeFileSync(fileOf(id), String(bytes), { mode: 0o600 }),
    forget: (id) => rmSync(fileOf(id), { force: true }),
  };
}

export interface ProcessLimit {
  softBytes: number;
  hardBytes: number;
}

// undefined if the process has ended.
export function readLimit(pid: number, name: "data size" | "file size"): ProcessLimit | undefined {
  const [, soft, hard] = new RegExp(`^Max ${name}\\s+(\\S+)\\s+(\\S+)`, "m").exec(readFileIfReadable(`/proc/${pid}/limits`) ?? "") ?? [];
  const bytes = (text: string) => (text === "unlimited" ? Infinity : Number(text));
  return soft === undefined || hard === undefined ? undefined : { softBytes: bytes(soft), hardBytes: bytes(hard) };
}

// File systems in memory that the sandbox may fill.
const IN_MEMORY = ["tmp", "dev/shm"];

// The bytes in the file systems that are in memory, as the first process of the sandbox sees them.
export function bytesInMemory(init: number): number {
  const used = (path: string) => {
    const { blocks, bfree, bsize } = statfsSync(`/proc/${init}/root/${path}`);
    return (blocks - bfree) * bsize;
  };
  return IN_MEMORY.reduce((sum, path) => sum + used(path), 0);
}

// An upper bound: memory that processes share after a fork counts once for each. 0 if the sandbox has ended.
export function heldMemoryOf(tree: readonly ProcessEntry[]): number {
  const [init] = tree;
  return init ? bytesInMemory(init.pid) + privateMemoryOf(tree) : 0;
}
