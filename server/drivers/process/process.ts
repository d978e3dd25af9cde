import { spawn } from "node:child_process";
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError, isSandboxId, type SandboxId, type SnapshotId } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { Log } from "../../log.ts";
import { awaitDaemon } from "../daemon-health.ts";
import { withDriverErrors } from "../driver-errors.ts";
import type { Driver, SandboxCondition, SandboxSpec, TakenSnapshot } from "../driver.ts";
import { daemonBuild } from "../host/daemon-build.ts";
import { createFolderSnapshots } from "../host/disks/folder-snapshots.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import { findRelatedProcesses, readProcess, type ProcessEntry } from "../host/process-table.ts";
import { mustRun, PLAIN_PATH } from "../host/run.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { createLinkedVolumes } from "./linked-volumes.ts";
import { PID_FILE } from "./plain-sandboxes.ts";
import { cpuMsOf, memoryOf } from "../host/process-usage.ts";
import { OTHER_MACHINE, snapshotFlags } from "./snapshot-flags.ts";
import { awaitEnd, freezeAll, killAll, signalAll } from "../host/signals.ts";

export interface ProcessDriverOptions {
  dataDir: string;
  // The folder with bin/node and daemon.cjs.
  runtimeDir: string;
  log: Log;
  startTimeoutMs?: number;
}

const FILES = ["home", "workspace"];
const STOP_TIMEOUT_MS = 5_000;
const FREEZE_TIMEOUT_MS = 1_000;

interface StartedDaemon {
  // Resolves with its exit code when it has ended.
  exited: Promise<number | null>;
}

// Runs sandboxes as plain processes without any isolation, for a laptop without a container runtime. A sandbox is a folder, a daemon
// in its own session, and the processes that the daemon starts. The daemon outlives the server. Its process id and start time
// are stored in the folder, so that the next server finds it and cannot confuse it with another process.
export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const { runtimeDir, log, startTimeoutMs = 30_000 } = options;
  mkdirSync(options.dataDir, { recursive: true });
  // The kernel reports the current directory of a process as a real path.
  const dataDir = realpathSync(options.dataDir);
  const sandboxesDir = join(dataDir, "sandboxes");
  const withLock = createKeyedLock();
  const snapshots = createFolderSnapshots(dataDir);
  // Frozen for a snapshot, and about to run again.
  const copying = new Set<SandboxId>();
  const linked = createLinkedVolumes(join(dataDir, "volumes"));
  log.warn("driver.unisolated", {
    warning: "Sandboxes are plain processes. Code in them can do everything that the server's user can do.",
  });

  const pathsOf = (id: SandboxId) => {
    const folder = join(sandboxesDir, id);
    const at = (name: string) => join(folder, name);
    return {
      folder,
      workspace: at("workspace"),
      home: at("home"),
      tmp: at("tmp"),
      control: at("run"),
      pidFile: at(PID_FILE),
      egress: join(dataDir, "egress", id),
    };
  };

  async function findDaemon(id: SandboxId): Promise<ProcessEntry | undefined> {
    const text = await readFile(pathsOf(id).pidFile, "utf8").catch(() => "");
    const [pid, started] = text.split("\n");
    const entry = pid && started ? readProcess(Number(pid)) : undefined;
    return entry && entry.started === started && entry.state !== "Z" ? entry : undefined;
  }

  function findProcesses(id: SandboxId, daemon: ProcessEntry | undefined): ProcessEntry[] {
    const { workspace, home, tmp, control } = pathsOf(id);
    return findRelatedProcesses(daemon?.pid ?? -1, [workspace, home, tmp, control]);
  }

  async function conditionOf(id: SandboxId): Promise<SandboxCondition> {
    const names = await readdir(pathsOf(id).folder).catch(() => undefined);
    if (!names) return "absent";
    const daemon = await findDaemon(id);
    if (!daemon) return "stopped";
    return daemon.state === "T" && !copying.has(id) ? "frozen" : "running";
  }

  // The files appear under their names only when they are complete.
  async function restoreFiles({ id, snapshot }: SandboxSpec, signal: AbortSignal): Promise<void> {
    const { folder, workspace } = pathsOf(id);
    if (snapshot === undefined || existsSync(workspace)) return;
    const draft = join(folder, "restored");
    await mustRun("rm", ["-rf", "--", draft]);
    await mkdir(draft, { recursive: true, mode: 0o700 });
    await snapshots.restore(snapshot, draft, signal);
    for (const name of FILES) await rename(join(draft, name), join(folder, name));
  }

  async function freeze(id: SandboxId, daemon: ProcessEntry): Promise<void> {
    // The daemon first, because it starts the others.
    signalAll([daemon], "SIGSTOP");
    freezeAll(() => findProcesses(id, daemon));
    // Signals are asynchronous, so wait until the daemon has stopped.
    const endMs = performance.now() + FREEZE_TIMEOUT_MS;
    while ((await findDaemon(id))?.state !== "T" && performance.now() < endMs) await sleep(1);
  }

  async function takeSnapshot(id: SandboxId, snapshotId: SnapshotId, signal: AbortSignal): Promise<TakenSnapshot> {
    if (snapshots.has(snapshotId)) return { bytes: await snapshots.size(snapshotId, signal), frozenMs: 0 };
    const condition = await conditionOf(id);
    if (condition === "absent") throw new AppError("sandbox_failed", { message: "The sandbox's files do not exist" });
    const daemon = condition === "running" ? await findDaemon(id) : undefined;
    const startedMs = performance.now();
    copying.add(id);
    try {
      if (daemon) await freeze(id, daemon);
      await snapshots.take(snapshotId, pathsOf(id).folder, FILES, signal);
    } finally {
      if (daemon) signalAll(findProcesses(id, daemon), "SIGCONT");
      copying.delete(id);
    }
    const frozenMs = daemon ? performance.now() - startedMs : 0;
    return { bytes: await snapshots.complete(snapshotId, signal), frozenMs };
  }

  async function start(spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    const { exited } = await startDaemon(spec, snapshotFlags(runtimeDir), signal);
    try {
      await awaitResponse(spec.id, signal);
    } catch (error) {
      if (!isAppError(error, "sandbox_failed") || (await exited) !== OTHER_MACHINE) throw error;
      await startDaemon(spec, [], signal);
      await awaitResponse(spec.id, signal);
    }
  }

  async function restart(spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    // If an earlier server died before it stored the daemon's process id, that daemon still runs.
    await kill(spec.id);
    await start(spec, signal);
  }

  async function startDaemon(spec: SandboxSpec, flags: readonly string[], signal: AbortSignal): Promise<StartedDaemon> {
    const { id, tokenHash, volumes = [] } = spec;
    const paths = pathsOf(id);
    await restoreFiles(spec, signal);
    for (const folder of [paths.workspace, paths.home, paths.tmp, paths.control, paths.egress])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const volume of volumes) linked.link(paths.home, volume);
    signal.throwIfAborted();
    const child = spawn(join(runtimeDir, "host/node"), [...flags, join(runtimeDir, "daemon.cjs")], {
      // The path of the socket is relative to the control folder, because an absolute one may exceed the limit for socket paths.
      cwd: paths.control,
      detached: true,
      stdio: "ignore",
      env: {
        BERTH_TOKEN_HASH: tokenHash,
        BERTH_SOCKET: DAEMON_SOCKET,
        BERTH_WORKSPACE: paths.workspace,
        BERTH_HOME: paths.home,
        BERTH_EGRESS: join(paths.egress, "proxy.sock"),
        HOME: paths.home,
        TMPDIR: paths.tmp,
        PATH: process.env.PATH ?? PLAIN_PATH,
        LANG: "C.UTF-8",
      },
    });
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    const { pid } = child;
    const entry = pid === undefined ? undefined : readProcess(pid);
    child.unref();
    if (!entry) throw new AppError("sandbox_failed", { cause: new Error("the daemon ended immediately") });
    await writeFile(`${paths.pidFile}.new`, `${entry.pid}\n${entry.started}\n`);
    await rename(`${paths.pidFile}.new`, paths.pidFile);
    return { exited };
  }

  const awaitResponse = (id: SandboxId, signal: AbortSignal) =>
    awaitDaemon(
      {
        dial: (bounded) => dial(id, bounded),
        alive: async () => (await findDaemon(id)) !== undefined,
        timeoutMs: startTimeoutMs,
      },
      signal,
    );

  async function kill(id: SandboxId): Promise<void> {
    const daemon = await findDaemon(id);
    await killAll(() => findProcesses(id, daemon));
  }

  async function stop(id: SandboxId): Promise<void> {
    const daemon = await findDaemon(id);
    if (daemon) {
      signalAll(findProcesses(id, daemon), "SIGCONT");
      signalAll([daemon], "SIGTERM");
      await awaitEnd([daemon], STOP_TIMEOUT_MS);
    }
    await killAll(() => findProcesses(id, daemon));
  }

  async function remove(id: SandboxId): Promise<void> {
    await kill(id);
    const { folder, egress } = pathsOf(id);
    await mustRun("rm", ["-rf", "--", folder, egress]);
  }

  const dial = (id: SandboxId, signal: AbortSignal) => dialSocketFile(join(pathsOf(id).control, DAEMON_SOCKET), signal);

  const operation = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    withLock(id, () => withDriverErrors(signal, work));

  return {
    name: "process",
    traits: { hostBound: true, freezes: true, isolates: false, recipe: daemonBuild(runtimeDir) },

    create: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const before = await conditionOf(spec.id);
        if (before === "running") return;
        if (before === "frozen") return signalAll(findProcesses(spec.id, await findDaemon(spec.id)), "SIGCONT");
        try {
          // In a folder that did not exist, nothing runs yet.
          await (before === "absent" ? start(spec, signal) : restart(spec, signal));
        } catch (error) {
          // Delete the files only if this call has created them.
          await (before === "absent" ? remove(spec.id) : kill(spec.id));
          throw error;
        }
        log.debug("sandbox.started", { sandboxId: spec.id, driver: "process" });
      }),

    pause: (id, signal) =>
      operation(id, signal, async () => {
        const daemon = await findDaemon(id);
        if (daemon) await freeze(id, daemon);
      }),

    hibernate: (id, signal) => operation(id, signal, () => stop(id)),

    resume: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const daemon = await findDaemon(spec.id);
        if (daemon) {
          signalAll(findProcesses(spec.id, daemon), "SIGCONT");
          await awaitResponse(spec.id, signal);
          return { restarted: false };
        }
        if (!existsSync(pathsOf(spec.id).workspace)) throw new AppError("disk_missing");
        await restart(spec, signal);
        return { restarted: true };
      }),

    destroy: (id, signal) => operation(id, signal, () => remove(id)),
    takeSnapshot: (id, snapshotId, signal) => operation(id, signal, () => takeSnapshot(id, snapshotId, signal)),
    deleteSnapshot: (snapshotId, signal) => withDriverErrors(signal, () => snapshots.remove(snapshotId)),
    listSnapshots: () => snapshots.list(),
    inspect: (id) => conditionOf(id),

    async list() {
      const names = await readdir(sandboxesDir).catch((): string[] => []);
      return Promise.all(names.filter(isSandboxId).map(async (id) => ({ id, condition: await conditionOf(id) })));
    },

    async stats(id) {
      const daemon = await findDaemon(id);
      if (!daemon) return { memoryBytes: 0, cpuMs: 0, pids: 0, diskBytes: null };
      const processes = findProcesses(id, daemon);
      return { memoryBytes: memoryOf(processes), cpuMs: cpuMsOf(processes), pids: processes.length, diskBytes: null };
    },

    dial,
    volumes: linked,
    // Sandboxes outlive the server, so there is nothing to release.
    async [Symbol.asyncDispose]() {},
  };
}
