import { spawn } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isSandboxId, type SandboxId } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { Log } from "../../log.ts";
import { isLoopbackHost, isLoopbackUrl } from "../../network/loopback.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import type { Driver, SandboxCondition, SandboxSpec } from "../driver.ts";
import { withDriverErrors } from "../driver-errors.ts";
import { awaitDaemon } from "../daemon-health.ts";
import { createKeyedLock } from "../keyed-lock.ts";
import { mustRun, PLAIN_PATH } from "../host/run.ts";
import { findRelatedProcesses, readProcess, type ProcessEntry } from "../host/process-table.ts";
import { cpuMsOf, memoryOf } from "./usage.ts";

export interface ProcessDriverOptions {
  dataDir: string;
  // The daemon's runtime: bin/node and daemon.cjs.
  runtimeDir: string;
  log: Log;
  startTimeoutMs?: number;
}

const KILL_TIMEOUT_MS = 10_000;

// Why the driver must not be used with these settings: everyone who reaches the server runs commands as its user. Behind a
// proxy the server listens on loopback and serves the public all the same; its base URL says so.
export function processRefusal({ host, baseUrl, allowUnisolated }: ProcessExposure): string | undefined {
  if (allowUnisolated) return undefined;
  const seen = !isLoopbackHost(host)
    ? `BERTH_HOST is ${host}: listen on 127.0.0.1`
    : baseUrl !== null && !isLoopbackUrl(baseUrl)
      ? `BERTH_BASE_URL is ${baseUrl}, which others can reach: use a driver that isolates`
      : undefined;
  return seen && `Plain processes isolate nothing, and ${seen}, or say BERTH_ALLOW_UNISOLATED=1.`;
}

interface ProcessExposure {
  // The address that the server listens on.
  host: string;
  // null: it is reached on localhost.
  baseUrl: string | null;
  allowUnisolated: boolean;
}

// Plain child processes of this machine: no isolation at all, for a laptop without a container runtime. A sandbox is a
// folder, a daemon in a session of its own, and whatever that daemon starts. The daemon outlives the server; its id and
// the moment it began are in the folder, so the next server finds it and never mistakes another process for it.
export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const { runtimeDir, log, startTimeoutMs = 30_000 } = options;
  mkdirSync(options.dataDir, { recursive: true });
  // The kernel tells where a process works by its real path.
  const dataDir = realpathSync(options.dataDir);
  const sandboxesDir = join(dataDir, "sandboxes");
  const inTurn = createKeyedLock();
  log.warn("driver.unisolated", { warning: "Sandboxes are plain processes: what runs in them can do everything that this user can do." });

  const placesOf = (id: SandboxId) => {
    const folder = join(sandboxesDir, id);
    const at = (name: string) => join(folder, name);
    return {
      folder,
      workspace: at("workspace"),
      home: at("home"),
      tmp: at("tmp"),
      control: at("run"),
      pidFile: at("daemon.pid"),
      egress: join(dataDir, "egress", id),
    };
  };

  async function findDaemon(id: SandboxId): Promise<ProcessEntry | undefined> {
    const text = await readFile(placesOf(id).pidFile, "utf8").catch(() => "");
    const [pid, started] = text.split("\n");
    const entry = pid && started ? readProcess(Number(pid)) : undefined;
    return entry && entry.started === started && entry.state !== "Z" ? entry : undefined;
  }

  async function conditionOf(id: SandboxId): Promise<SandboxCondition> {
    const names = await readdir(placesOf(id).folder).catch(() => undefined);
    if (!names) return "absent";
    const daemon = await findDaemon(id);
    if (!daemon) return "stopped";
    return daemon.state === "T" ? "frozen" : "running";
  }

  const family = (id: SandboxId, daemon: ProcessEntry | undefined) => {
    const { workspace, home, tmp, control } = placesOf(id);
    return findRelatedProcesses(daemon?.pid ?? -1, [workspace, home, tmp, control]);
  };

  async function start({ id, tokenHash }: SandboxSpec, signal: AbortSignal): Promise<void> {
    const places = placesOf(id);
    // A server that died before it wrote the daemon's id down has left one that nobody knows.
    await stop(id, 0);
    for (const folder of [places.workspace, places.home, places.tmp, places.control, places.egress])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    signal.throwIfAborted();
    const child = spawn(join(runtimeDir, "bin/node"), [join(runtimeDir, "daemon.cjs")], {
      // The control folder, so that the socket's name may be relative: an absolute one can be longer than a socket allows.
      cwd: places.control,
      detached: true,
      stdio: "ignore",
      env: {
        BERTH_TOKEN_HASH: tokenHash,
        BERTH_SOCKET: DAEMON_SOCKET,
        BERTH_WORKSPACE: places.workspace,
        BERTH_HOME: places.home,
        BERTH_EGRESS: join(places.egress, "proxy.sock"),
        HOME: places.home,
        TMPDIR: places.tmp,
        PATH: process.env.PATH ?? PLAIN_PATH,
        LANG: "C.UTF-8",
      },
    });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    const { pid } = child;
    const entry = pid === undefined ? undefined : readProcess(pid);
    child.unref();
    if (!entry) throw new AppError("sandbox_failed", { cause: new Error("the daemon ended at once") });
    await writeFile(`${places.pidFile}.new`, `${entry.pid}\n${entry.started}\n`);
    await rename(`${places.pidFile}.new`, places.pidFile);
    const alive = async () => (await findDaemon(id)) !== undefined;
    await awaitDaemon({ dial: (bounded) => dial(id, bounded), alive, timeoutMs: startTimeoutMs }, signal);
  }

  async function stop(id: SandboxId, graceMs: number): Promise<void> {
    const daemon = await findDaemon(id);
    const members = family(id, daemon);
    if (daemon && graceMs > 0) {
      signalAll(members, "SIGCONT");
      signalAll([daemon], "SIGTERM");
      await gone([daemon], graceMs);
    }
    // New ones may have been started while we looked, so look again until there are none.
    const alive = () => family(id, daemon).filter((entry) => entry.state !== "Z");
    const endMs = performance.now() + KILL_TIMEOUT_MS;
    for (let left = alive(); left.length > 0; left = alive()) {
      if (performance.now() > endMs) throw new AppError("sandbox_timeout", { cause: new Error("processes do not die") });
      signalAll(left, "SIGKILL");
      await gone(left, 1_000);
    }
  }

  async function remove(id: SandboxId): Promise<void> {
    await stop(id, 0);
    const { folder, egress } = placesOf(id);
    await mustRun("rm", ["-rf", "--", folder, egress]);
  }

  const dial = (id: SandboxId, signal: AbortSignal) => dialSocketFile(join(placesOf(id).control, DAEMON_SOCKET), signal);

  return {
    name: "process",
    traits: { hostBound: true, freezes: true, isolates: false },

    create: (spec, signal) =>
      inTurn(spec.id, () =>
        withDriverErrors(signal, async () => {
          const before = await conditionOf(spec.id);
          if (before === "running") return;
          if (before === "frozen") return signalAll(family(spec.id, await findDaemon(spec.id)), "SIGCONT");
          try {
            await start(spec, signal);
          } catch (error) {
            // Files that were there before the call are not ours to delete.
            await (before === "absent" ? remove(spec.id) : stop(spec.id, 0));
            throw error;
          }
          log.debug("sandbox.started", { sandboxId: spec.id, driver: "process" });
        }),
      ),

    pause: (id, signal) =>
      inTurn(id, () =>
        withDriverErrors(signal, async () => {
          const daemon = await findDaemon(id);
          if (!daemon) return;
          // The daemon first: it is the one that starts others.
          signalAll([daemon], "SIGSTOP");
          for (const settled = new Set<number>(); ;) {
            const fresh = family(id, daemon).filter((entry) => !settled.has(entry.pid) && !/[TZ]/.test(entry.state));
            if (fresh.length === 0) break;
            signalAll(fresh, "SIGSTOP");
            for (const entry of fresh) settled.add(entry.pid);
          }
          // The signal is on its way; wait until the daemon stands still.
          for (const endMs = performance.now() + 1_000; (await conditionOf(id)) === "running" && performance.now() < endMs;) await sleep(1);
        }),
      ),

    hibernate: (id, signal) => inTurn(id, () => withDriverErrors(signal, () => stop(id, 5_000))),

    resume: (spec, signal) =>
      inTurn(spec.id, () =>
        withDriverErrors(signal, async () => {
          const daemon = await findDaemon(spec.id);
          if (daemon) {
            signalAll(family(spec.id, daemon), "SIGCONT");
            await awaitDaemon(
              {
                dial: (bounded) => dial(spec.id, bounded),
                alive: async () => (await findDaemon(spec.id)) !== undefined,
                timeoutMs: startTimeoutMs,
              },
              signal,
            );
            return { restarted: false };
          }
          await start(spec, signal);
          return { restarted: true };
        }),
      ),

    destroy: (id, signal) => inTurn(id, () => withDriverErrors(signal, () => remove(id))),
    inspect: (id) => conditionOf(id),

    async list() {
      const names = await readdir(sandboxesDir).catch((): string[] => []);
      return Promise.all(names.filter(isSandboxId).map(async (id) => ({ id, condition: await conditionOf(id) })));
    },

    async stats(id) {
      const daemon = await findDaemon(id);
      if (!daemon) return { memoryBytes: 0, cpuMs: 0, pids: 0 };
      const members = family(id, daemon);
      return { memoryBytes: memoryOf(members), cpuMs: cpuMsOf(members), pids: members.length };
    },

    dial,
    // Sandboxes outlive the server: there is nothing to let go of.
    async [Symbol.asyncDispose]() {},
  };
}

function signalAll(entries: readonly ProcessEntry[], signal: NodeJS.Signals): void {
  for (const entry of entries) {
    // Between our reading the table and now the id may have passed to another process.
    if (readProcess(entry.pid)?.started !== entry.started) continue;
    try {
      process.kill(entry.pid, signal);
    } catch {
      // It has ended.
    }
  }
}

async function gone(entries: readonly ProcessEntry[], timeoutMs: number): Promise<void> {
  const left = () =>
    entries.filter(({ pid, started }) => {
      const now = readProcess(pid);
      return now?.started === started && now.state !== "Z";
    });
  for (const endMs = performance.now() + timeoutMs; left().length > 0 && performance.now() < endMs;) await sleep(3);
}
