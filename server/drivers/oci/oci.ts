import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isSandboxId, type SandboxId, type Template } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { Log } from "../../log.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import type { Driver, SandboxCondition, SandboxSpec } from "../driver.ts";
import { withDriverErrors } from "../driver-errors.ts";
import { awaitDaemon } from "../daemon-health.ts";
import { createKeyedLock } from "../keyed-lock.ts";
import { mustRun, PLAIN_PATH } from "../host/run.ts";
import { createSemaphore } from "../host/semaphore.ts";
import { bundleConfig } from "./bundle.ts";
import { cgroupPrefix, openCgroups } from "./cgroups/cgroups.ts";
import { closeControlFolder, controlFolderOf, openControlFolder } from "./filesystem/control-folder.ts";
import { processLimits } from "../host/host-limits.ts";
import { ROOTS_DIR } from "./probe.ts";
import { prepareHostRoot, prepareTemplateRoot } from "./filesystem/root.ts";
import { kindOf } from "./runtime/runtime-kinds.ts";
import { createRuntime } from "./runtime/runtime.ts";
import { findUnrestrictedMounts, unrestrictedMountsError } from "./filesystem/unrestricted-mounts.ts";
import { privateMountPaths } from "./runtime/private-mounts.ts";
import { killOrphanedCommands } from "./runtime/orphaned-commands.ts";
import { createUserIds } from "./users/user-ids.ts";
import { openUserNamespace } from "./users/user-namespace.ts";
import { createVolumes } from "../host/volumes.ts";

export interface OciDriverOptions {
  dataDir: string;
  // The daemon's runtime, shown to sandboxes at /opt/berth.
  runtimeDir: string;
  log: Log;
  // The OCI runtime's command: runc, crun, runsc or a path that ends so.
  runtime: string;
  // Whether each sandbox gets a disk of bounded size (needs loop devices).
  boundDisks: boolean;
  // Root folders that all sandboxes share. Everybody on this machine must be able to walk to it.
  rootsDir?: string;
  startTimeoutMs?: number;
  stopTimeoutMs?: number;
}

const DAEMON_ENV = {
  BERTH_SOCKET: `/run/berth/${DAEMON_SOCKET}`,
  BERTH_WORKSPACE: "/workspace",
  BERTH_HOME: "/home/user",
  BERTH_EGRESS: "/run/berth-egress/proxy.sock",
  PATH: PLAIN_PATH,
  HOME: "/home/user",
  LANG: "C.UTF-8",
};
const STARTS_AT_ONCE = 2 * availableParallelism();
// The part of a sandbox's memory that its sockets may hold in buffers. All sockets of a machine share net.ipv4.tcp_mem and
// udp_mem, about a tenth of the machine's memory each.
const SOCKET_BUFFERS_SHARE = 32;
const MIN_FREE_BYTES = 256 * 1024 * 1024;

// Containers through an OCI runtime, without any engine: the kernel keeps them running when the server is gone, and
// everything about them is in the data folder and in their control groups, where the next server finds it.
export function createOciDriver(options: OciDriverOptions): Driver {
  const { runtimeDir, log, startTimeoutMs = 30_000, stopTimeoutMs = 5_000, rootsDir = ROOTS_DIR } = options;
  mkdirSync(options.dataDir, { recursive: true });
  // The kernel tells mounts by their real paths.
  const dataDir = realpathSync(options.dataDir);
  const sandboxesDir = join(dataDir, "sandboxes");
  const cgroups = openCgroups(cgroupPrefix(dataDir));
  const runtime = createRuntime(options.runtime, join(dataDir, "containers"), startTimeoutMs);
  const kind = kindOf(options.runtime);
  const volumes = createVolumes(options.boundDisks);
  const userIds = createUserIds(sandboxesDir);
  const inTurn = createKeyedLock();
  const enter = createSemaphore(STARTS_AT_ONCE);
  // Sandboxes that this process has looked after: nothing of an earlier server can be at work on them.
  const known = new Set<SandboxId>();

  const folderOf = (id: SandboxId) => join(sandboxesDir, id);
  const egressOf = (id: SandboxId) => join(dataDir, "egress", id);

  function conditionOf(id: SandboxId): SandboxCondition {
    if (cgroups.pids(id).length > 0) return cgroups.isFrozen(id) ? "frozen" : "running";
    return existsSync(folderOf(id)) || runtime.list().includes(id) ? "stopped" : "absent";
  }

  async function settle(id: SandboxId): Promise<void> {
    if (known.has(id)) return;
    await killOrphanedCommands(dataDir, options.runtime, id);
    known.add(id);
  }

  async function start(spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    const { id } = spec;
    checkRoom(id);
    await clear(id);
    mkdirSync(join(dataDir, "egress"), { recursive: true, mode: 0o700 });
    mkdirSync(egressOf(id), { recursive: true, mode: 0o755 });
    await enter(signal, () => launch(spec, signal));
    await answering(id, signal);
  }

  async function launch({ id, template, tokenHash }: SandboxSpec, signal: AbortSignal): Promise<void> {
    const folder = folderOf(id);
    const ids = userIds.of(folder);
    const { workspace, home } = await volumes.open(folder, { diskMb: template.diskMb, owner: ids.user, signal });
    const folders = { workspace, home, runtimeDir, egress: egressOf(id) };
    const staged = kind.opaque ? { ...folders, control: await openControlFolder(folder, ids.user, signal) } : undefined;
    // On gVisor the kernel that counts is the sandbox's own.
    await using userNamespace = kind.opaque ? undefined : await openUserNamespace(ids, signal);
    const config = bundleConfig({
      template,
      kind,
      ...rootOf(template),
      ...(staged ? privateMountPaths(staged) : folders),
      userIds: ids,
      userNamespace: userNamespace?.path,
      cgroupsPath: cgroups.pathOf(id),
      args: ["/bin/sh", "/opt/berth/init.sh"],
      env: { ...DAEMON_ENV, BERTH_TOKEN_HASH: tokenHash },
    });
    writeFileSync(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
    if (!kind.opaque) cgroups.limitSocketBuffers(id, (template.memoryMb * 1024 * 1024) / SOCKET_BUFFERS_SHARE);
    const limits = processLimits(template);
    await runtime.start(id, { bundle: folder, pidFile: join(folder, "init.pid"), limits, staged }, signal);
    if (!kind.opaque) checkMounts(id);
  }

  function rootOf({ root }: Template): { root: string; rootEntries?: string[] } {
    if (root === undefined) return { root: prepareHostRoot(rootsDir) };
    const { path, entries } = prepareTemplateRoot(rootsDir, root);
    return kind.opaque ? { root } : { root: path, rootEntries: entries };
  }

  // The operator may mount anything below a folder that sandboxes see, at any time. No sandbox may write to it.
  function checkMounts(id: SandboxId): void {
    const pid = initOf(id);
    const loose = pid === undefined ? [] : findUnrestrictedMounts(read(`/proc/${pid}/mountinfo`) ?? "");
    if (loose.length > 0) throw new Error(`${options.runtime}: ${unrestrictedMountsError(loose)}`);
  }

  const answering = (id: SandboxId, signal: AbortSignal) =>
    awaitDaemon({ dial: (bounded) => dial(id, bounded), alive: () => cgroups.pids(id).length > 0, timeoutMs: startTimeoutMs }, signal);

  // Thawed and answering, or frozen as before: a sandbox that nobody counts as running must not run.
  async function thawed(id: SandboxId, signal: AbortSignal): Promise<void> {
    cgroups.thaw(id);
    try {
      await answering(id, signal);
    } catch (error) {
      await undo(id, () => cgroups.freeze(id, AbortSignal.timeout(stopTimeoutMs)));
      throw error;
    }
  }

  function checkRoom(id: SandboxId): void {
    mkdirSync(folderOf(id), { recursive: true, mode: 0o700 });
    const { bavail, bsize } = statfsSync(dataDir);
    if (bavail * bsize < MIN_FREE_BYTES)
      throw new AppError("capacity_reached", { cause: new Error("the disk of the data folder is full") });
  }

  // Whatever runs or is left of a container; the files stay.
  async function clear(id: SandboxId): Promise<void> {
    await cgroups.kill(id);
    await cgroups.remove(id);
    runtime.forget(id);
  }

  async function stop(id: SandboxId): Promise<void> {
    await clear(id);
    await closeControlFolder(folderOf(id));
    await volumes.close(folderOf(id));
  }

  async function remove(id: SandboxId): Promise<void> {
    await stop(id);
    await mustRun("rm", ["-rf", "--one-file-system", "--", folderOf(id), egressOf(id)]);
  }

  // What cannot be undone now is found by `list` later; the caller is told why the start failed, not this.
  async function undo(id: SandboxId, work: (id: SandboxId) => Promise<void>): Promise<void> {
    await work(id).catch((error: unknown) => log.warn("sandbox.undo_failed", { sandboxId: id, error: String(error) }));
  }

  async function askToStop(id: SandboxId): Promise<void> {
    const pid = initOf(id);
    if (pid === undefined) return;
    cgroups.thaw(id);
    signalIfThere(pid, "SIGTERM");
    for (const endMs = performance.now() + stopTimeoutMs; cgroups.pids(id).length > 0 && performance.now() < endMs;) await sleep(3);
  }

  // The container's first process, as the host counts, while it is the sandbox's.
  function initOf(id: SandboxId): number | undefined {
    const pid = Number(read(join(folderOf(id), "init.pid")));
    return pid > 0 && belongs(pid, id) ? pid : undefined;
  }

  // A process id may pass to a stranger; a place in the sandbox's control group cannot.
  const belongs = (pid: number, id: SandboxId) => cgroups.pids(id).includes(pid);

  async function dial(id: SandboxId, signal: AbortSignal) {
    const pid = initOf(id);
    if (pid === undefined) throw new AppError("sandbox_unreachable", { cause: new Error("the sandbox does not run") });
    // Through the sandbox's own view of its files, where the host has one: the socket then is in no folder of the host. On
    // either path only the last part can be changed from inside.
    const control = kind.opaque ? controlFolderOf(folderOf(id)) : `/proc/${pid}/root/run/berth`;
    return dialSocketFile(join(control, DAEMON_SOCKET), signal, () => belongs(pid, id));
  }

  const step = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    inTurn(id, () =>
      withDriverErrors(signal, async () => {
        await settle(id);
        return await work();
      }),
    );

  return {
    name: "oci",
    traits: { hostBound: true, freezes: true, isolates: true },

    create: (spec, signal) =>
      step(spec.id, signal, async () => {
        const before = conditionOf(spec.id);
        if (before === "frozen") return await thawed(spec.id, signal);
        if (before === "running") return await answering(spec.id, signal);
        const startedMs = performance.now();
        try {
          await start(spec, signal);
        } catch (error) {
          // Files that were there before the call are not ours to delete.
          await undo(spec.id, before === "absent" ? remove : stop);
          throw error;
        }
        log.debug("sandbox.started", { sandboxId: spec.id, driver: "oci", tookMs: Math.round(performance.now() - startedMs) });
      }),

    pause: (id, signal) =>
      step(id, signal, async () => {
        if (conditionOf(id) === "running") await cgroups.freeze(id, signal);
      }),

    hibernate: (id, signal) =>
      step(id, signal, async () => {
        await askToStop(id);
        await stop(id);
      }),

    resume: (spec, signal) =>
      step(spec.id, signal, async () => {
        const before = conditionOf(spec.id);
        if (before === "absent") throw new AppError("sandbox_failed", { cause: new Error("there is no such sandbox to resume") });
        if (before === "frozen") await thawed(spec.id, signal);
        if (before === "running") await answering(spec.id, signal);
        if (before !== "stopped") return { restarted: false };
        try {
          await start(spec, signal);
        } catch (error) {
          await undo(spec.id, stop);
          throw error;
        }
        return { restarted: true };
      }),

    destroy: (id, signal) =>
      step(id, signal, async () => {
        await remove(id);
        known.delete(id);
      }),

    inspect: async (id) => conditionOf(id),

    async list() {
      const folders = existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
      const ids = new Set([...folders, ...runtime.list(), ...cgroups.list()].filter(isSandboxId));
      return [...ids].map((id) => ({ id, condition: conditionOf(id) }));
    },

    stats: async (id) => cgroups.stats(id),
    dial,
    // Sandboxes outlive the server: there is nothing to let go of.
    async [Symbol.asyncDispose]() {},
  };
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
