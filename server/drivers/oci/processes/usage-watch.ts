import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isAppError, isSandboxId } from "@berth/contract";
import { systemClock, type Clock } from "../../../clock.ts";
import { runWork } from "../../../event-loop/loop-work.ts";
import type { FileRunner } from "../../host/file-runner.ts";
import { readProcesses, type ProcessEntry } from "../../host/process-table.ts";
import { run } from "../../host/run.ts";
import { signalAll } from "../../host/signals.ts";
import type { ProcessGroups } from "./process-groups.ts";
import { bytesInMemory, heldMemoryOf, readLimit, type ProcessLimit } from "./sandbox-memory.ts";

export interface UsageWatchOptions {
  sandboxesDir: string;
  groups: Pick<ProcessGroups, "treeOf" | "isAlive" | "isFrozen" | "memoryLimitOf">;
  files: FileRunner;
  onExceeded: OnExceeded;
  clock?: Clock;
}

// A sandbox was beyond one of its limits, and the watch acted.
export interface Exceeded {
  limit: "memory" | "disk" | "files";
  used: number;
  allowed: number;
  action: "killed processes" | "stopped writes" | "stopped the sandbox";
}

export type OnExceeded = (id: string, exceeded: Exceeded) => void;

const WORK = { name: "usage of sandboxes" };
const PERIOD_MS = 1_000;
// Reading all processes of a machine that has many of them takes at most this fraction of the time.
const LOOK_PERIODS = 20;
const MAX_LOOK_PERIOD_MS = 5_000;
// Reading the size of a folder starts a program, and takes longer the more files the folder has. Each sandbox has a thirtieth of the
// time for it, and all of them together start few programs a second.
const MIN_DISK_PERIOD_MS = 5_000;
const DISK_PERIOD_PER_SANDBOX_MS = 200;
const DISK_PERIODS = 30;
const MAX_DISK_PERIOD_MS = 5 * 60_000;
const MAX_DISK_CHECKS = 4;
const DISK_TIMEOUT_MS = 60_000;
const MEMORY_TIMEOUT_MS = 5_000;
// Beyond its limit a sandbox can still delete files. A program that raises its own limit again is stopped at this excess.
const DISK_EXCESS = 1.25;
const NO_WRITES = 1;

// A file of the smallest size takes a block of most file systems. An empty one takes an inode, which no limit of bytes covers.
const BYTES_PER_FILE = 4096;
const MEASURE = `du -sx --block-size=1 -- "$1" 2> /dev/null; du -sx --inodes -- "$1" 2> /dev/null; :`;

interface DiskCheck {
  // The part of its limit that the sandbox uses, of bytes or of files.
  fraction: number;
  nextMs: number;
}

// Limits the sums of resources that the kernel limits only for each process or file. If a sandbox uses too much memory, its largest
// processes end. If its files have too many bytes, or are too many, programs cannot write until both are below their limits again. A
// sandbox can exceed a limit for about as long as the time between two looks.
export function watchUsage({ sandboxesDir, groups, files, onExceeded, clock = systemClock }: UsageWatchOptions): AsyncDisposable {
  const disks = new Map<string, DiskCheck>();
  const diskChecks = new Map<string, Promise<void>>();
  const stop = new AbortController();
  let nextLookMs = 0;

  async function checkMemory(id: string, tree: readonly ProcessEntry[], limitBytes: number): Promise<void> {
    if (heldMemoryOf(tree) <= limitBytes) return;
    // Processes share memory after a fork, which the first look counts once for each.
    const shares = await readShares(tree);
    const usedBytes = bytesInMemory(tree[0]!.pid) + [...shares.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (usedBytes <= limitBytes) return;
    const [init, daemon] = [tree[0]!, oldestChild(tree)];
    const largestFirst = tree
      .filter((entry) => entry !== init && entry !== daemon)
      .toSorted((one, other) => (shares.get(other.pid) ?? 0) - (shares.get(one.pid) ?? 0));
    let leftBytes = usedBytes;
    const ended = largestFirst.filter((entry) => {
      const isNeeded = leftBytes > limitBytes;
      if (isNeeded) leftBytes -= shares.get(entry.pid) ?? 0;
      return isNeeded;
    });
    signalAll(ended.length > 0 ? ended : [init], "SIGKILL");
    onExceeded(id, {
      limit: "memory",
      used: usedBytes,
      allowed: limitBytes,
      action: ended.length > 0 ? "killed processes" : "stopped the sandbox",
    });
  }

  // Infinite if the folder has more files than can be read in time. Files that are deleted in the meantime do not count.
  async function measure(folder: string): Promise<{ bytes: number; files: number }> {
    try {
      const options = { signal: stop.signal, timeoutMs: DISK_TIMEOUT_MS };
      const output = await files.run("sh", ["-c", MEASURE, "sh", folder], options);
      const [, bytes, count] = /^(\d+)\t.*\n(\d+)\t/.exec(output) ?? [];
      if (count === undefined) throw new Error(`${folder} could not be measured`);
      return { bytes: Number(bytes), files: Number(count) };
    } catch (error) {
      if (isAppError(error, "sandbox_timeout")) return { bytes: Infinity, files: Infinity };
      throw error;
    }
  }

  async function checkDisk(id: string, tree: readonly ProcessEntry[], { softBytes, hardBytes }: ProcessLimit): Promise<void> {
    const before = disks.get(id);
    const startedMs = performance.now();
    const measured = await measure(join(sandboxesDir, id, "volume"));
    const tookMs = performance.now() - startedMs;
    const periodMs = Math.max(MIN_DISK_PERIOD_MS, DISK_PERIOD_PER_SANDBOX_MS * disks.size, DISK_PERIODS * tookMs);
    const maxFiles = hardBytes / BYTES_PER_FILE;
    const fraction = Math.max(measured.bytes / hardBytes, measured.files / maxFiles);
    disks.set(id, { fraction, nextMs: performance.now() + Math.min(periodMs, MAX_DISK_PERIOD_MS) });
    const exceeded =
      measured.bytes > hardBytes
        ? ({ limit: "disk", used: measured.bytes, allowed: hardBytes } as const)
        : ({ limit: "files", used: measured.files, allowed: maxFiles } as const);
    const [isOver, isStopped] = [fraction > 1, softBytes <= NO_WRITES];
    if (isOver && before && fraction > before.fraction && fraction > DISK_EXCESS) {
      signalAll(tree.slice(0, 1), "SIGKILL");
      onExceeded(id, { ...exceeded, action: "stopped the sandbox" });
      return;
    }
    if (isOver || isStopped) await limitFiles(groups.treeOf(id), isOver ? NO_WRITES : hardBytes);
    if (isOver && !isStopped) onExceeded(id, { ...exceeded, action: "stopped writes" });
  }

  async function check(id: string, table: readonly ProcessEntry[]): Promise<void> {
    const tree = groups.treeOf(id, table);
    const init = tree[0]?.pid;
    // The bundle has given this limit to the first process. A sandbox can only lower it.
    const fileLimit = init === undefined ? undefined : readLimit(init, "file size");
    if (init === undefined || !fileLimit) return;
    // Not awaited: a sandbox with many files must not delay the next look at memory.
    const isDue = !diskChecks.has(id) && performance.now() >= (disks.get(id)?.nextMs ?? 0);
    if (isDue && diskChecks.size < MAX_DISK_CHECKS) {
      const checked = checkDisk(id, tree, fileLimit).catch(() => undefined);
      diskChecks.set(
        id,
        checked.finally(() => diskChecks.delete(id)),
      );
    }
    const memoryBytes = groups.memoryLimitOf(id, init);
    if (memoryBytes !== undefined) await checkMemory(id, tree, memoryBytes);
  }

  async function checkAll(): Promise<void> {
    const ids = (existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : []).filter(isSandboxId);
    for (const id of disks.keys()) if (!ids.some((one) => one === id)) disks.delete(id);
    const running = ids.filter((id) => groups.isAlive(id) && !groups.isFrozen(id));
    if (running.length === 0 || performance.now() < nextLookMs) return;
    const startedMs = performance.now();
    const table = readProcesses();
    nextLookMs = performance.now() + Math.min(MAX_LOOK_PERIOD_MS, LOOK_PERIODS * (performance.now() - startedMs));
    // A sandbox that ends in the meantime, or whose folder is renamed, fails its check.
    await Promise.all(running.map((id) => check(id, table).catch(() => undefined)));
  }

  const timer = clock.every(PERIOD_MS, () => runWork(WORK, checkAll));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await timer[Symbol.asyncDispose]();
      await Promise.all(diskChecks.values());
    },
  };
}

// The daemon, which init.sh starts first. The sandbox cannot work without it.
const oldestChild = ([init, ...others]: readonly ProcessEntry[]): ProcessEntry | undefined =>
  others.filter(({ parent }) => parent === init?.pid).toSorted((one, other) => Number(one.started) - Number(other.started))[0];

// The proportional memory of each process. Another program reads it, because the kernel lets a reader wait while the process
// changes its memory map.
async function readShares(tree: readonly ProcessEntry[]): Promise<Map<number, number>> {
  const paths = tree.map(({ pid }) => `/proc/${pid}/smaps_rollup`);
  const { output } = await run("grep", ["-s", "^Pss_Anon:", ...paths, "/dev/null"], { timeoutMs: MEMORY_TIMEOUT_MS });
  const shares = new Map<number, number>();
  for (const [, pid, kilobytes] of output.matchAll(/^\/proc\/(\d+)\/smaps_rollup:Pss_Anon:\s+(\d+) kB$/gm))
    shares.set(Number(pid), Number(kilobytes) * 1024);
  return shares;
}

// Programs that start later inherit the limit.
async function limitFiles(tree: readonly ProcessEntry[], bytes: number): Promise<void> {
  const script = `for pid; do prlimit --pid "$pid" --fsize=${bytes}: || :; done`;
  await run("sh", ["-c", script, "sh", ...tree.map(({ pid }) => String(pid))], { quiet: true });
}
