import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import type { SandboxStats } from "../../driver.ts";
import { readCgroupLayout } from "./cgroup-layouts.ts";

// The control groups of our sandboxes, read and written directly: freezing through the runtime would cost a process of
// its own each time.
export interface Cgroups {
  // What the bundle says: the runtime makes the group under this name, in every hierarchy.
  pathOf(id: string): string;
  // For before the start: the runtimes know of no such limit.
  limitSocketBuffers(id: string, bytes: number): void;
  pids(id: string): number[];
  isFrozen(id: string): boolean;
  freeze(id: string, signal: AbortSignal): Promise<void>;
  thaw(id: string): void;
  // Kills every process and resolves when none is left.
  kill(id: string): Promise<void>;
  // Removes the empty groups.
  remove(id: string): Promise<void>;
  stats(id: string): SandboxStats;
  // Every sandbox that has a group, whether or not anything else of it is left.
  list(): string[];
}

const FREEZE_TIMEOUT_MS = 5_000;
const KILL_TIMEOUT_MS = 10_000;

// The start of the names of an installation's groups, told by the real path of its data folder.
export const cgroupPrefix = (dataDir: string): string => `berth-${createHash("sha256").update(dataDir).digest("hex").slice(0, 8)}`;

// `prefix` tells the groups of this installation from those of others. They lie side by side, without a parent of ours that
// somebody would have to remove.
export function openCgroups(prefix: string, layout = readCgroupLayout()): Cgroups {
  const nameOf = (id: string) => `${prefix}-${id}`;
  const foldersOf = (id: string) => layout.hierarchies.map((path) => join(path, nameOf(id)));

  async function freeze(id: string, signal: AbortSignal): Promise<void> {
    for (const endMs = performance.now() + FREEZE_TIMEOUT_MS; ;) {
      layout.setFrozen(nameOf(id), true);
      if (layout.frozen(nameOf(id)) === "wholly") return;
      if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error("the freezer did not finish") });
      // Version 1 passes over a process that is just being made; asking again catches it.
      await sleep(1, undefined, { signal });
    }
  }

  return {
    pathOf: (id) => `/${nameOf(id)}`,
    limitSocketBuffers: (id, bytes) => layout.limitSocketBuffers(nameOf(id), bytes),
    pids: (id) => layout.pids(nameOf(id)),
    isFrozen: (id) => layout.frozen(nameOf(id)) !== "no",

    async freeze(id, signal) {
      try {
        await freeze(id, signal);
      } catch (error) {
        layout.setFrozen(nameOf(id), false);
        throw error;
      }
    },

    thaw: (id) => layout.setFrozen(nameOf(id), false),

    async kill(id) {
      for (const endMs = performance.now() + KILL_TIMEOUT_MS; ;) {
        const left = new Set(foldersOf(id).flatMap((folder) => readPids(join(folder, "cgroup.procs"))));
        if (left.size === 0) return;
        if (performance.now() > endMs)
          throw new AppError("sandbox_timeout", { cause: new Error(`processes ${[...left].join(", ")} do not die`) });
        for (const pid of left) killIfThere(pid);
        // A frozen process dies only when it is thawed.
        if (layout.frozen(nameOf(id)) !== "no") layout.setFrozen(nameOf(id), false);
        await sleep(1);
      }
    },

    async remove(id) {
      for (const folder of foldersOf(id)) {
        for (const endMs = performance.now() + KILL_TIMEOUT_MS; !removed(folder);) {
          if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error(`${folder} stays busy`) });
          await sleep(1);
        }
      }
    },

    stats: (id) => layout.stats(nameOf(id)),

    list() {
      const names = layout.hierarchies.flatMap(foldersIn).filter((name) => name.startsWith(`${prefix}-`));
      return [...new Set(names.map((name) => name.slice(prefix.length + 1)))];
    },
  };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

// True when the folder is gone. Groups that were made inside it go first.
function removed(path: string): boolean {
  for (const name of foldersIn(path)) removed(join(path, name));
  try {
    rmdirSync(path);
  } catch {
    // Asked of the file system and not of the error: a read-only one, as containers have, refuses before it looks.
  }
  return !existsSync(path);
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return [];
  }
}

function readPids(path: string): number[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
