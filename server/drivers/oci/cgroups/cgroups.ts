import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { keepFile, type KeptFile } from "../../../bounded-io/kept-file.ts";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { signalIfRunning } from "../../host/signals.ts";
import { readCgroupLayout, type CgroupLimits, type CgroupStats } from "./cgroup-layouts.ts";

// The control groups of our sandboxes. They are read and written directly, because each call of the OCI runtime would start
// a process. An ordinary user may have no control groups, but process trees instead (processes/process-groups.ts).
export interface Cgroups extends AsyncDisposable {
  // The group for the bundle of the next start. undefined: there are no control groups.
  groupOf(id: string): BundleGroup | undefined;
  // Must be called before each start. Sets what the bundle cannot: OCI runtimes have no limit of socket buffers.
  prepare(id: string, limits: { socketBufferBytes?: number | undefined }): void;
  // To be called after the start. The device must be the sandbox's own. See CgroupLayout.
  limitWrites(id: string, device: string, bytesPerSecond: number): void;
  unlimitWrites(device: string): void;
  // See CgroupLayout. Holds until the next start.
  setLimits(id: string, limits: SandboxLimits): void;
  heldMemoryBytes(id: string): number;
  pids(id: string): number[];
  // Whether it has any process.
  isAlive(id: string): boolean;
  // A process id may be reused by a process outside the sandbox, but membership cannot be.
  has(id: string, pid: number): boolean;
  isFrozen(id: string): boolean;
  // Resolves when every process is frozen. If it fails, the group is thawed again.
  freeze(id: string, signal: AbortSignal): Promise<void>;
  thaw(id: string): void;
  // Kills every process and resolves when none is left. No-op if the group does not exist.
  kill(id: string): Promise<void>;
  // Removes the group, which must be empty. No-op if it does not exist.
  remove(id: string): Promise<void>;
  // The processor time that the sandbox has used, for frequent looks: a file stays open until `closeCpu`. 0 if there is no group.
  cpuMs(id: string): number;
  closeCpu(id: string): void;
  // See BackgroundClass.
  isBackground(id: string): boolean;
  enterBackground(id: string): string | undefined;
  leaveBackground(id: string, weight?: string): void;
  stats(id: string): CgroupStats;
  unwrittenBytes(id: string): number;
  // The ids of all sandboxes that have a group, even if nothing else of them is left.
  list(): string[];
}

export interface SandboxLimits extends CgroupLimits {
  // undefined: there is no limit of them, or it does not change.
  socketBufferBytes?: number | undefined;
}

export interface BundleGroup {
  // The runtime creates the group at this path in every hierarchy.
  path: string;
  // Whether the group has the controller for processor time.
  limitsCpu: boolean;
}

export interface ControlGroups extends Cgroups {
  groupOf(id: string): BundleGroup;
}

export interface CgroupPlace {
  // The parent of the groups of new sandboxes.
  parent?: string;
  limitsCpu?: boolean;
  // The path of a sandbox's group, if an earlier server may have created it elsewhere.
  recorded?(id: string): string | undefined;
}

const FREEZE_TIMEOUT_MS = 5_000;
const KILL_TIMEOUT_MS = 10_000;

// The prefix of the names of an installation's groups, derived from the real path of its data folder.
export const cgroupPrefix = (dataDir: string): string => `berth-${createHash("sha256").update(dataDir).digest("hex").slice(0, 8)}`;

// `prefix` distinguishes the groups of this installation from those of others. The groups of root have no parent of their own, which
// would have to be removed with the last sandbox.
export function openCgroups(prefix: string, layout = readCgroupLayout(), place: CgroupPlace = {}): ControlGroups {
  const { parent = "/", limitsCpu = true, recorded = () => undefined } = place;
  const newNameOf = (id: string) => join(parent, `${prefix}-${id}`);
  const nameOf = (id: string) => recorded(id) ?? newNameOf(id);
  const cpuFiles = new Map<string, { path: string; file: KeptFile }>();
  const foldersOf = (id: string) => layout.hierarchies.map((path) => join(path, nameOf(id))).filter((path) => existsSync(path));

  async function freeze(id: string, signal: AbortSignal): Promise<void> {
    for (const endMs = performance.now() + FREEZE_TIMEOUT_MS; ;) {
      layout.freeze(nameOf(id));
      if (layout.frozen(nameOf(id)) === "wholly") return;
      if (performance.now() > endMs)
        throw new AppError("sandbox_timeout", { cause: new Error(`not every process froze within ${FREEZE_TIMEOUT_MS} ms`) });
      // cgroup v1 misses a process that is being forked at the moment. Repeating the request freezes it too.
      await sleep(1, undefined, { signal });
    }
  }

  function closeCpu(id: string): void {
    cpuFiles.get(id)?.file[Symbol.dispose]();
    cpuFiles.delete(id);
  }

  const limitSocketBuffers = (id: string, { socketBufferBytes }: { socketBufferBytes?: number | undefined }) => {
    if (socketBufferBytes !== undefined) layout.limitSocketBuffers(nameOf(id), socketBufferBytes);
  };

  return {
    groupOf: (id) => ({ path: newNameOf(id), limitsCpu }),
    prepare: limitSocketBuffers,
    limitWrites: (id, device, bytesPerSecond) => layout.limitWrites(nameOf(id), device, bytesPerSecond),
    unlimitWrites: (device) => layout.unlimitWrites(device),
    setLimits(id, limits) {
      layout.setLimits(nameOf(id), limits);
      limitSocketBuffers(id, limits);
    },
    heldMemoryBytes: (id) => layout.heldMemoryBytes(nameOf(id)),
    pids: (id) => layout.pids(nameOf(id)),
    isAlive: (id) => layout.pids(nameOf(id)).length > 0,
    has: (id, pid) => layout.pids(nameOf(id)).includes(pid),
    isFrozen: (id) => layout.frozen(nameOf(id)) !== "no",

    async freeze(id, signal) {
      try {
        await freeze(id, signal);
      } catch (error) {
        layout.thaw(nameOf(id));
        throw error;
      }
    },

    thaw: (id) => layout.thaw(nameOf(id)),

    async kill(id) {
      const foundIn = (folders: string[]) => [...new Set(folders.flatMap((folder) => readPids(join(folder, "cgroup.procs"))))];
      // All hierarchies have the same processes, except while the runtime adds one. Looking into every one of them is slow.
      const findLeft = () => {
        const left = layout.pids(nameOf(id));
        return left.length > 0 ? left : foundIn(foldersOf(id));
      };
      const endMs = performance.now() + KILL_TIMEOUT_MS;
      for (let left = findLeft(); left.length > 0; left = findLeft()) {
        if (performance.now() > endMs)
          throw new AppError("sandbox_timeout", {
            cause: new Error(`processes ${left.join(", ")} survived SIGKILL for ${KILL_TIMEOUT_MS} ms`),
          });
        layout.kill(nameOf(id));
        for (const pid of left) signalIfRunning(pid, "SIGKILL");
        // A frozen process dies only when it is thawed.
        if (layout.frozen(nameOf(id)) !== "no") layout.thaw(nameOf(id));
        await sleep(1);
      }
    },

    async remove(id) {
      for (const folder of foldersOf(id)) {
        for (const endMs = performance.now() + KILL_TIMEOUT_MS; !tryRemove(folder);) {
          if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error(`${folder} is still in use`) });
          await sleep(1);
        }
      }
    },

    cpuMs(id) {
      const path = layout.cpuFile(nameOf(id));
      const opened = cpuFiles.get(id);
      if (opened?.path === path) return layout.parseCpuMs(opened.file.read() ?? "");
      closeCpu(id);
      const file = keepFile(path);
      cpuFiles.set(id, { path, file });
      return layout.parseCpuMs(file.read() ?? "");
    },
    closeCpu,
    isBackground: (id) => layout.background.has(nameOf(id)),
    enterBackground: (id) => layout.background.enter(nameOf(id)),
    leaveBackground: (id, weight) => layout.background.leave(nameOf(id), weight),
    stats: (id) => layout.stats(nameOf(id)),
    unwrittenBytes: (id) => layout.unwrittenBytes(nameOf(id)),

    list() {
      const names = layout.hierarchies.flatMap((path) => foldersIn(join(path, parent))).filter((name) => name.startsWith(`${prefix}-`));
      return [...new Set(names.map((name) => name.slice(prefix.length + 1)))];
    },
    // Sandboxes outlive the server.
    async [Symbol.asyncDispose]() {
      for (const id of cpuFiles.keys()) closeCpu(id);
    },
  };
}

// Removes the group and the groups inside it. Returns true if it no longer exists.
export function tryRemove(path: string): boolean {
  if (removeEmpty(path)) return true;
  const inside = foldersIn(path);
  for (const name of inside) tryRemove(join(path, name));
  return inside.length > 0 && removeEmpty(path);
}

function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    // The error does not tell whether the folder exists: a read-only file system, as in a container, always answers EROFS.
    return !existsSync(path);
  }
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return [];
  }
}

const readPids = (path: string) => (readFileIfReadable(path) ?? "").split("\n").filter(Boolean).map(Number);
