import { readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import type { SandboxStats } from "../driver.ts";

// The control groups of our sandboxes, read and written directly: freezing through the runtime would cost a process of
// its own each time. Works with version 2, version 1 and both side by side.
export interface Cgroups {
  // What the bundle says: the runtime makes the group under this name, in every hierarchy.
  pathOf(id: string): string;
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

// `prefix` tells the groups of this installation from those of others. They lie side by side, without a parent of ours that
// somebody would have to remove.
export function openCgroups(prefix: string): Cgroups {
  const nameOf = (id: string) => `${prefix}-${id}`;
  const mounts = readMounts();
  const unified = mounts.find((mount) => mount.version === 2 && mount.path === "/sys/fs/cgroup");
  const folder = (controller: string, id: string) => {
    const mount = unified ?? mounts.find((candidate) => candidate.controllers.includes(controller));
    return join(mount?.path ?? `/sys/fs/cgroup/${controller}`, nameOf(id));
  };
  const folders = (id: string) => mounts.map((mount) => join(mount.path, nameOf(id)));

  const pids = (id: string) => readNumbers(join(folder("freezer", id), "cgroup.procs"));
  const isFrozen = (id: string) =>
    unified
      ? (read(join(folder("", id), "cgroup.events")) ?? "").includes("frozen 1")
      : /FROZEN|FREEZING/.test(read(join(folder("freezer", id), "freezer.state")) ?? "");
  const isWhollyFrozen = (id: string) => (unified ? isFrozen(id) : read(join(folder("freezer", id), "freezer.state"))?.trim() === "FROZEN");

  function setFrozen(id: string, frozen: boolean): void {
    if (unified) writeFileSync(join(folder("", id), "cgroup.freeze"), frozen ? "1" : "0");
    else writeFileSync(join(folder("freezer", id), "freezer.state"), frozen ? "FROZEN" : "THAWED");
  }

  return {
    pathOf: (id) => `/${nameOf(id)}`,
    pids,
    isFrozen,

    async freeze(id, signal) {
      setFrozen(id, true);
      try {
        for (const endMs = performance.now() + FREEZE_TIMEOUT_MS; !isWhollyFrozen(id);) {
          if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error("the freezer did not finish") });
          await sleep(1, undefined, { signal });
          // Version 1 gives up on a process that was just being made; asking again finishes it.
          setFrozen(id, true);
        }
      } catch (error) {
        setFrozen(id, false);
        throw error;
      }
    },

    thaw: (id) => setFrozen(id, false),

    async kill(id) {
      for (const endMs = performance.now() + KILL_TIMEOUT_MS; ;) {
        const left = [...new Set(folders(id).flatMap((path) => readNumbers(join(path, "cgroup.procs"))))];
        if (left.length === 0) return;
        if (performance.now() > endMs)
          throw new AppError("sandbox_timeout", { cause: new Error(`processes ${left.join(", ")} do not die`) });
        for (const pid of left) killIfThere(pid);
        // A frozen process dies only when it is thawed.
        if (isFrozen(id)) setFrozen(id, false);
        await sleep(1);
      }
    },

    async remove(id) {
      for (const path of folders(id)) {
        for (const endMs = performance.now() + KILL_TIMEOUT_MS; !removed(path);) {
          if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error(`${path} stays busy`) });
          await sleep(1);
        }
      }
    },

    stats(id) {
      const number = (controller: string, file: string) => Number(read(join(folder(controller, id), file)) ?? 0);
      if (!unified) {
        return {
          memoryBytes: number("memory", "memory.usage_in_bytes"),
          cpuMs: number("cpuacct", "cpuacct.usage") / 1e6,
          pids: number("pids", "pids.current"),
        };
      }
      const usage = /usage_usec (\d+)/.exec(read(join(folder("", id), "cpu.stat")) ?? "")?.[1] ?? 0;
      return { memoryBytes: number("", "memory.current"), cpuMs: Number(usage) / 1000, pids: number("", "pids.current") };
    },

    list() {
      const names = mounts.flatMap((mount) => foldersIn(mount.path)).filter((name) => name.startsWith(`${prefix}-`));
      return [...new Set(names.map((name) => name.slice(prefix.length + 1)))];
    },
  };
}

interface CgroupMount {
  path: string;
  version: 1 | 2;
  controllers: string[];
}

function readMounts(): CgroupMount[] {
  return (read("/proc/self/mountinfo") ?? "")
    .split("\n")
    .map((line) => line.split(" - "))
    .flatMap(([before, after]) => {
      const path = before?.split(" ")[4];
      const [type, , options] = after?.split(" ") ?? [];
      if (!path || (type !== "cgroup" && type !== "cgroup2")) return [];
      return [{ path, version: type === "cgroup2" ? 2 : 1, controllers: (options ?? "").split(",") } satisfies CgroupMount];
    });
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
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

const readNumbers = (path: string) => (read(path) ?? "").split("\n").filter(Boolean).map(Number);

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
