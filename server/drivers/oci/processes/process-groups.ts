import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { readProcess, readProcesses, type ProcessEntry } from "../../host/process-table.ts";
import { cpuMsOf, memoryOf } from "../../host/process-usage.ts";
import { killAll, signalAll } from "../../host/signals.ts";
import { tryRemove, type Cgroups } from "../cgroups/cgroups.ts";
import { createMemoryLimits, heldMemoryOf } from "./sandbox-memory.ts";

// The processes of a sandbox for a server without control groups: the first process and its descendants. A sandbox has a PID
// namespace, so no process leaves this tree, and the kernel ends all of them with the first one.
export interface ProcessGroups extends Cgroups {
  // All processes of a sandbox that runs, the first one first, each before its children.
  treeOf(id: string, table?: readonly ProcessEntry[]): ProcessEntry[];
  // See MemoryLimits.
  memoryLimitOf(id: string, init: number): number | undefined;
}

export interface ProcessGroupsOptions {
  // Where the runtime stores the process id and the start time of each container's first process.
  stateDir: string;
  sandboxesDir: string;
}

const FREEZE_TIMEOUT_MS = 5_000;
const RECENT_MS = 200;
const REMOVE_TIMEOUT_MS = 1_000;

export function openProcessGroups({ stateDir, sandboxesDir }: ProcessGroupsOptions): ProcessGroups {
  const memoryLimits = createMemoryLimits(sandboxesDir);
  const known = new Map<string, Init>();
  let recent: { table: readonly ProcessEntry[]; readAtMs: number } = { table: [], readAtMs: -Infinity };

  function initOf(id: string): ProcessEntry | undefined {
    const path = join(stateDir, id, id, "state.json");
    const modifiedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (modifiedMs === undefined) return void known.delete(id);
    const cached = known.get(id);
    const init = cached?.modifiedMs === modifiedMs ? cached : readInit(path, modifiedMs);
    if (!init) return undefined;
    known.set(id, init);
    const entry = readProcess(init.pid);
    return entry && entry.started === init.started && !ENDED.test(entry.state) ? entry : undefined;
  }

  // Includes processes that have ended but that their parent has not reaped.
  function allOf(id: string, table: readonly ProcessEntry[] = readProcesses()): ProcessEntry[] {
    const init = initOf(id);
    if (!init) return [];
    const children = Map.groupBy(table, ({ parent }) => parent);
    const found = [init];
    // The list grows while it is read.
    for (const { pid } of found) found.push(...(children.get(pid) ?? []));
    return found;
  }

  const treeOf = (id: string, table?: readonly ProcessEntry[]) => allOf(id, table).filter(({ state }) => !ENDED.test(state));

  // Many sandboxes are measured at once.
  function recentTable(): readonly ProcessEntry[] {
    if (performance.now() - recent.readAtMs > RECENT_MS) recent = { table: readProcesses(), readAtMs: performance.now() };
    return recent.table;
  }

  const isFrozen = (id: string) => initOf(id)?.state === "T";

  async function freeze(id: string, signal: AbortSignal): Promise<void> {
    const signalled = new Set<string>();
    let before: number | undefined;
    for (const endMs = performance.now() + FREEZE_TIMEOUT_MS; ;) {
      // One look per turn: a program that forks without end must not keep the server busy.
      const all = allOf(id);
      // A process that waits in the kernel, such as for a child of `vfork`, stops before it runs again.
      const running = all.filter((entry) => !STOPPED.test(entry.state) && !(entry.state === "D" && signalled.has(nameOf(entry))));
      // A look can miss a program that forks and ends all the time. It leaves zombies, because the first process is stopped.
      if (running.length === 0 && all.length === before) return;
      before = running.length === 0 ? all.length : undefined;
      signalAll(running, "SIGSTOP");
      for (const entry of running) signalled.add(nameOf(entry));
      if (performance.now() > endMs)
        throw new AppError("sandbox_timeout", { cause: new Error(`not every process stopped within ${FREEZE_TIMEOUT_MS} ms`) });
      await sleep(2, undefined, { signal });
    }
  }

  // Children first: a shell that runs again before its child does would report the child as stopped.
  const thaw = (id: string) => signalAll(treeOf(id).toReversed(), "SIGCONT");

  return {
    treeOf,
    memoryLimitOf: memoryLimits.of,
    groupOf: () => undefined,
    prepare: memoryLimits.forget,
    limitWrites() {},
    unlimitWrites() {},
    // Processor time has no limit.
    setLimits: (id, { memoryBytes }) => memoryLimits.set(id, memoryBytes),
    heldMemoryBytes: (id) => heldMemoryOf(treeOf(id)),
    pids: (id) => treeOf(id).map(({ pid }) => pid),
    isAlive: (id) => initOf(id) !== undefined,
    has: (id, pid) => initOf(id)?.pid === pid,
    isFrozen,
    async freeze(id, signal) {
      try {
        await freeze(id, signal);
      } catch (error) {
        thaw(id);
        throw error;
      }
    },
    thaw,
    kill: (id) => killAll(() => [initOf(id)].filter((entry) => entry !== undefined)),
    async remove(id) {
      const folders = readGroups(join(stateDir, id, id, "state.json")).filter((folder) => basename(folder) === id);
      for (const folder of folders)
        for (const endMs = performance.now() + REMOVE_TIMEOUT_MS; !tryRemove(folder) && performance.now() < endMs;) await sleep(5);
    },
    // Only needed for the background class, which an ordinary user does not have.
    cpuMs: () => 0,
    closeCpu() {},
    isBackground: () => false,
    enterBackground: () => undefined,
    leaveBackground() {},
    stats(id) {
      const tree = treeOf(id, recentTable());
      return { memoryBytes: memoryOf(tree), cpuMs: cpuMsOf(tree), pids: tree.length };
    },
    unwrittenBytes: () => 0,
    list: () => [],
    async [Symbol.asyncDispose]() {},
  };
}

const nameOf = ({ pid, started }: ProcessEntry) => `${pid} ${started}`;

interface Init {
  pid: number;
  started: string;
  modifiedMs: number;
}

const ENDED = /[ZX]/;
// A debugger stops its process in the state t, in which it does not run either.
const STOPPED = /[TtZX]/;

// The file is large, because it contains the whole bundle.
function readInit(path: string, modifiedMs: number): Init | undefined {
  try {
    const state = JSON.parse(readFileIfReadable(path) ?? "") as { init_process_pid: number; init_process_start: number };
    return { pid: state.init_process_pid, started: String(state.init_process_start), modifiedMs };
  } catch {
    // The runtime is just writing it.
    return undefined;
  }
}

// The groups that the runtime creates on its own, beside the server's group if that belongs to the user, as in a desktop terminal. They
// have no limits.
function readGroups(path: string): string[] {
  try {
    return Object.values((JSON.parse(readFileIfReadable(path) ?? "") as { cgroup_paths: Record<string, string> }).cgroup_paths);
  } catch {
    return [];
  }
}
