import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxStats } from "../../driver.ts";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { CPU_PERIOD_US, cpuQuotaUs, cpuShares, cpuWeight } from "../../host/isolation/cpu-shares.ts";
import { createBackgroundClass, type BackgroundClass } from "./background-class.ts";

// The files of a control group, in cgroup v1 and in cgroup v2.
export interface CgroupLayout {
  // The mount points of all hierarchies. A group may have a folder in each of them.
  readonly hierarchies: string[];
  // Limits the buffers of the group's sockets, and creates the group for it. No-op if socket buffers count as memory.
  limitSocketBuffers(name: string, bytes: number): void;
  // Limits how fast the kernel writes to a block device that only this group uses. The group must exist.
  limitWrites(name: string, device: string, bytesPerSecond: number): void;
  // Removes what of that limit would outlive the group.
  unlimitWrites(device: string): void;
  // Changes the limits of a group that exists. The weight of a group in the background class is set when it leaves the class.
  setLimits(name: string, limits: CgroupLimits): void;
  // The memory of the group, without the cache of files. 0 if it does not exist.
  heldMemoryBytes(name: string): number;
  pids(name: string): number[];
  freeze(name: string): void;
  thaw(name: string): void;
  frozen(name: string): "no" | "partly" | "wholly";
  // Kills all processes at once, also those that are being forked. No-op if the kernel cannot, or if the group does not exist.
  kill(name: string): void;
  // The file with the processor time that the group has used, and what it says.
  cpuFile(name: string): string;
  parseCpuMs(text: string): number;
  readonly background: BackgroundClass;
  stats(name: string): CgroupStats;
  // Bytes that the group has written to files and the kernel still holds in memory. 0 if it does not exist.
  unwrittenBytes(name: string): number;
}

export interface CgroupLimits {
  cpus: number;
  memoryBytes: number;
}

export type CgroupStats = Omit<SandboxStats, "diskBytes">;

export interface CgroupMount {
  path: string;
  version: 1 | 2;
  controllers: string[];
}

// Uses v1 if it has the freezer, even if v2 is mounted as well.
export function readCgroupLayout(mounts: readonly CgroupMount[] = readCgroupMounts()): CgroupLayout {
  const hierarchies = mounts.map(({ path }) => path);
  const isVersion1 = mounts.some(({ version, controllers }) => version === 1 && controllers.includes("freezer"));
  if (isVersion1)
    return { hierarchies, ...version1((controller) => mounts.find(({ controllers }) => controllers.includes(controller))?.path) };
  return { hierarchies, ...version2(mounts.find(({ version }) => version === 2)?.path ?? "/sys/fs/cgroup") };
}

function version1(pathOf: (controller: string) => string | undefined): Omit<CgroupLayout, "hierarchies"> {
  const fileOf = (controller: string, name: string, file: string) => join(pathOf(controller) ?? "/sys/fs/cgroup", name, file);
  const readNumber = (controller: string, name: string, file: string) => Number(read(fileOf(controller, name, file)));
  const setWriteLimit = (name: string, device: string, bytesPerSecond: number) =>
    writeIfExists(fileOf("blkio", name, "blkio.throttle.write_bps_device"), `${device} ${bytesPerSecond}`);
  // The kernel's own threads write most buffered data, and they always belong to the root group. A program that syncs its data
  // writes it itself.
  const ROOT_GROUP = "";
  const setState = (name: string, state: "FROZEN" | "THAWED") => writeFileSync(fileOf("freezer", name, "freezer.state"), state);
  const cpuFile = (name: string) => fileOf("cpuacct", name, "cpuacct.usage");
  const parseCpuMs = (text: string) => Number(text) / 1e6;
  const cpusOf = (name: string) => readNumber("cpu", name, "cpu.cfs_quota_us") / readNumber("cpu", name, "cpu.cfs_period_us");
  const background = createBackgroundClass({
    root: pathOf("cpu") ?? "/sys/fs/cgroup",
    weightFile: "cpu.shares",
    weightForQuota: (name) => String(cpuShares(cpusOf(name))),
  });
  return {
    limitSocketBuffers(name, bytes) {
      const parent = pathOf("memory");
      // Despite its name, the file covers all protocols.
      if (parent === undefined || !existsSync(join(parent, "memory.kmem.tcp.limit_in_bytes"))) return;
      mkdirSync(join(parent, name), { recursive: true });
      writeFileSync(fileOf("memory", name, "memory.kmem.tcp.limit_in_bytes"), String(bytes));
    },
    limitWrites(name, device, bytesPerSecond) {
      for (const group of [ROOT_GROUP, name]) setWriteLimit(group, device, bytesPerSecond);
    },
    unlimitWrites: (device) => setWriteLimit(ROOT_GROUP, device, 0),
    setLimits(name, { cpus, memoryBytes }) {
      const memory = [fileOf("memory", name, "memory.limit_in_bytes"), fileOf("memory", name, "memory.memsw.limit_in_bytes")];
      // The limit with swap must never be below the one without.
      const grows = memoryBytes > readNumber("memory", name, "memory.limit_in_bytes");
      for (const file of grows ? memory.toReversed() : memory) writeIfExists(file, String(memoryBytes));
      writeIfExists(fileOf("cpu", name, "cpu.cfs_quota_us"), String(cpuQuotaUs(cpus)));
      if (!background.has(name)) writeIfExists(fileOf("cpu", name, "cpu.shares"), String(cpuShares(cpus)));
    },
    heldMemoryBytes: (name) =>
      readNumber("memory", name, "memory.usage_in_bytes") -
      sumOf(read(fileOf("memory", name, "memory.stat")), /^total_(?:in)?active_file (\d+)$/gm),
    pids: (name) => readNumbers(fileOf("freezer", name, "cgroup.procs")),
    freeze: (name) => setState(name, "FROZEN"),
    thaw: (name) => setState(name, "THAWED"),
    frozen(name) {
      const state = read(fileOf("freezer", name, "freezer.state")).trim();
      return state === "FROZEN" ? "wholly" : state === "FREEZING" ? "partly" : "no";
    },
    kill() {},
    cpuFile,
    parseCpuMs,
    background,
    stats: (name) => ({
      memoryBytes: readNumber("memory", name, "memory.usage_in_bytes"),
      cpuMs: parseCpuMs(read(cpuFile(name))),
      pids: readNumber("pids", name, "pids.current"),
    }),
    unwrittenBytes: (name) => sumOf(read(fileOf("memory", name, "memory.stat")), /^total_(?:dirty|writeback) (\d+)$/gm),
  };
}

function version2(root: string): Omit<CgroupLayout, "hierarchies"> {
  const fileOf = (name: string, file: string) => join(root, name, file);
  const cpuFile = (name: string) => fileOf(name, "cpu.stat");
  const parseCpuMs = (text: string) => Number(/usage_usec (\d+)/.exec(text)?.[1] ?? 0) / 1000;
  const cpusOf = (name: string) => {
    const [quota, period] = read(fileOf(name, "cpu.max")).split(" ").map(Number);
    return quota! / period!;
  };
  const background = createBackgroundClass({
    root,
    weightFile: "cpu.weight",
    weightForQuota: (name) => String(cpuWeight(cpusOf(name))),
  });
  return {
    limitSocketBuffers() {},
    // The file exists if the operator's hierarchy has the controller `io`.
    limitWrites: (name, device, bytesPerSecond) => writeIfExists(fileOf(name, "io.max"), `${device} wbps=${bytesPerSecond}`),
    unlimitWrites() {},
    setLimits(name, { cpus, memoryBytes }) {
      writeIfExists(fileOf(name, "memory.max"), String(memoryBytes));
      writeIfExists(fileOf(name, "cpu.max"), `${cpuQuotaUs(cpus)} ${CPU_PERIOD_US}`);
      if (!background.has(name)) writeIfExists(fileOf(name, "cpu.weight"), String(cpuWeight(cpus)));
    },
    heldMemoryBytes: (name) =>
      Number(read(fileOf(name, "memory.current"))) - sumOf(read(fileOf(name, "memory.stat")), /^(?:in)?active_file (\d+)$/gm),
    pids: (name) => readNumbers(fileOf(name, "cgroup.procs")),
    freeze: (name) => writeFileSync(fileOf(name, "cgroup.freeze"), "1"),
    thaw: (name) => writeFileSync(fileOf(name, "cgroup.freeze"), "0"),
    frozen(name) {
      if (read(fileOf(name, "cgroup.events")).includes("frozen 1")) return "wholly";
      return read(fileOf(name, "cgroup.freeze")).trim() === "1" ? "partly" : "no";
    },
    // Since Linux 5.14.
    kill: (name) => writeIfExists(fileOf(name, "cgroup.kill"), "1"),
    cpuFile,
    parseCpuMs,
    background,
    stats: (name) => ({
      memoryBytes: Number(read(fileOf(name, "memory.current"))),
      cpuMs: parseCpuMs(read(cpuFile(name))),
      pids: Number(read(fileOf(name, "pids.current"))),
    }),
    unwrittenBytes: (name) => sumOf(read(fileOf(name, "memory.stat")), /^file_(?:dirty|writeback) (\d+)$/gm),
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

function writeIfExists(path: string, text: string): void {
  if (existsSync(path)) writeFileSync(path, text);
}

const sumOf = (text: string, numbers: RegExp) => [...text.matchAll(numbers)].reduce((sum, [, number]) => sum + Number(number), 0);

const readNumbers = (path: string) => read(path).split("\n").filter(Boolean).map(Number);

const read = (path: string) => readFileIfReadable(path) ?? "";
