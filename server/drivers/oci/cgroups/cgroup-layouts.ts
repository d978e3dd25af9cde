import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxStats } from "../../driver.ts";

// Where a control group's files lie and what they are called, in the two versions that Linux has.
export interface CgroupLayout {
  // Every hierarchy in which a group may have a folder, whether or not it governs anything there.
  readonly hierarchies: string[];
  // Bounds what the group's sockets hold in their buffers, where that does not count as its memory. The group is made.
  limitSocketBuffers(name: string, bytes: number): void;
  pids(name: string): number[];
  setFrozen(name: string, frozen: boolean): void;
  frozen(name: string): "no" | "partly" | "wholly";
  stats(name: string): SandboxStats;
}

export interface CgroupMount {
  path: string;
  version: 1 | 2;
  controllers: string[];
}

// Version 1 when it has the freezer, also where version 2 is mounted beside it.
export function readCgroupLayout(mounts: readonly CgroupMount[] = readCgroupMounts()): CgroupLayout {
  const hierarchies = mounts.map(({ path }) => path);
  const isVersion1 = mounts.some(({ version, controllers }) => version === 1 && controllers.includes("freezer"));
  if (isVersion1)
    return { hierarchies, ...version1((controller) => mounts.find(({ controllers }) => controllers.includes(controller))?.path) };
  return { hierarchies, ...version2(mounts.find(({ version }) => version === 2)?.path ?? "/sys/fs/cgroup") };
}

function version1(pathOf: (controller: string) => string | undefined): Omit<CgroupLayout, "hierarchies"> {
  const file = (controller: string, name: string, file: string) => join(pathOf(controller) ?? "/sys/fs/cgroup", name, file);
  const number = (controller: string, name: string, of: string) => Number(read(file(controller, name, of)));
  return {
    limitSocketBuffers(name, bytes) {
      const parent = pathOf("memory");
      // The file is for all protocols, whatever its name.
      if (parent === undefined || !existsSync(join(parent, "memory.kmem.tcp.limit_in_bytes"))) return;
      mkdirSync(join(parent, name), { recursive: true });
      writeFileSync(file("memory", name, "memory.kmem.tcp.limit_in_bytes"), String(bytes));
    },
    pids: (name) => readNumbers(file("freezer", name, "cgroup.procs")),
    setFrozen: (name, frozen) => writeFileSync(file("freezer", name, "freezer.state"), frozen ? "FROZEN" : "THAWED"),
    frozen(name) {
      const state = read(file("freezer", name, "freezer.state")).trim();
      return state === "FROZEN" ? "wholly" : state === "FREEZING" ? "partly" : "no";
    },
    stats: (name) => ({
      memoryBytes: number("memory", name, "memory.usage_in_bytes"),
      cpuMs: number("cpuacct", name, "cpuacct.usage") / 1e6,
      pids: number("pids", name, "pids.current"),
    }),
  };
}

function version2(root: string): Omit<CgroupLayout, "hierarchies"> {
  const file = (name: string, file: string) => join(root, name, file);
  return {
    // They count as memory.
    limitSocketBuffers() {},
    pids: (name) => readNumbers(file(name, "cgroup.procs")),
    setFrozen: (name, frozen) => writeFileSync(file(name, "cgroup.freeze"), frozen ? "1" : "0"),
    frozen(name) {
      if (read(file(name, "cgroup.events")).includes("frozen 1")) return "wholly";
      return read(file(name, "cgroup.freeze")).trim() === "1" ? "partly" : "no";
    },
    stats: (name) => ({
      memoryBytes: Number(read(file(name, "memory.current"))),
      cpuMs: Number(/usage_usec (\d+)/.exec(read(file(name, "cpu.stat")))?.[1] ?? 0) / 1000,
      pids: Number(read(file(name, "pids.current"))),
    }),
  };
}

function readCgroupMounts(): CgroupMount[] {
  return read("/proc/self/mountinfo")
    .split("\n")
    .map((line) => line.split(" - "))
    .flatMap(([before, after]) => {
      const path = before?.split(" ")[4];
      const [type, , options] = after?.split(" ") ?? [];
      if (!path || (type !== "cgroup" && type !== "cgroup2")) return [];
      return [{ path, version: type === "cgroup2" ? 2 : 1, controllers: (options ?? "").split(",") } satisfies CgroupMount];
    });
}

const readNumbers = (path: string) => read(path).split("\n").filter(Boolean).map(Number);

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
