import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, isSandboxId, type SandboxId, type SnapshotId } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import { readUnwritten } from "../../disk-space.ts";
import type { Log } from "../../log.ts";
import { awaitDaemon } from "../daemon-health.ts";
import { withDriverErrors } from "../driver-errors.ts";
import type { Driver, SandboxCondition, SandboxSpec, SandboxSummary, TakenSnapshot } from "../driver.ts";
import { daemonBuild } from "../host/daemon-build.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { coverVolumes, describeContainer, LABEL } from "./container.ts";
import { createContainers, type ContainerStatus } from "./containers.ts";
import { createEngine } from "./engine.ts";
import { createFreezer } from "./freezer.ts";
import { createSandboxStorage } from "./storage.ts";

export interface DockerOptions {
  socketPath: string;
  // The Engine must see this folder at the same path.
  dataDir: string;
  installation: string;
  // The image of templates that name none.
  image: string;
  // The folder with the daemon and its Node on the Engine's machine. null if every image has them at /opt/berth.
  runtimeDir: string | null;
  // Whether everything that a sandbox can write to has a limit (see storage.ts).
  boundDisks: boolean;
  // MiB that a copy of files leaves free.
  diskReserveMib?: number;
  log: Log;
  startTimeoutMs?: number;
  // How late the Engine may learn of a pause (see freezer.ts). The default is much longer than any observed delay.
  lateEventMs?: number;
}

// Each question costs the Engine time, and while many sandboxes start at once they all wait for it.
const ALIVE_EVERY_MS = 250;
// How long a clean-up may take after the caller's signal has aborted.
const UNDO_TIMEOUT_MS = 30_000;

// Runs sandboxes as containers of a Docker Engine. A container contains no data: workspace, home and control folder are in
// {dataDir}/sandboxes/{id}, so a container that is missing or outdated can be recreated over the same files.
export function createDockerDriver(options: DockerOptions): Driver {
  const { socketPath, dataDir, installation, image, runtimeDir, boundDisks, log, startTimeoutMs = 60_000, lateEventMs = 5_000 } = options;
  const engine = createEngine(socketPath);
  const containers = createContainers({ engine, installation, log });
  const freezer = createFreezer(containers, lateEventMs);
  const withLock = createKeyedLock();
  // Frozen for a snapshot, and about to run again.
  const copying = new Set<SandboxId>();
  // A server that is not root cannot give its folders to another user, so sandboxes run as its own user.
  const uid = process.getuid?.() || 1000;
  const storage = createSandboxStorage({ dataDir, uid, bounded: boundDisks, diskReserveMib: options.diskReserveMib ?? 0 });

  const describe = (spec: SandboxSpec) =>
    describeContainer(spec, { installation, image, uid, folders: storage.foldersOf(spec.id), runtimeDir });
  const socketOf = (id: SandboxId) => join(storage.foldersOf(id).control, DAEMON_SOCKET);
  const dial = (id: SandboxId, signal: AbortSignal) => dialSocketFile(socketOf(id), signal);

  // Starts the sandbox in whatever condition it is, and waits for its daemon. Returns true if its processes are new.
  async function ensureRunning(spec: SandboxSpec, files: "new" | "existing", signal: AbortSignal): Promise<boolean> {
    const { id } = spec;
    const status = await containers.status(id, signal);
    const isUp = status === "running" || status === "paused";
    if (isUp) await freezer.thaw(id, signal);
    else await startContainer(spec, files, signal);
    await awaitDaemon(
      {
        dial: (bounded) => dial(id, bounded),
        alive: () => containers.isUp(id, signal),
        aliveEveryMs: ALIVE_EVERY_MS,
        timeoutMs: startTimeoutMs,
        pollMs: 10,
        socket: socketOf(id),
      },
      signal,
    );
    return !isUp;
  }

  async function startContainer(spec: SandboxSpec, files: "new" | "existing", signal: AbortSignal): Promise<void> {
    const { id } = spec;
    const config = describe(spec);
    const create = files === "new" && { create: { diskMb: spec.template.diskMb, snapshot: spec.snapshot } };
    await storage.open(id, { ...create, volumes: spec.volumes ?? [] }, signal);
    // Remove the socket of an earlier run, so that only the new daemon can be reached.
    await rm(socketOf(id), { recursive: true, force: true });
    const label = await containers.label(id, LABEL.spec, signal);
    if (label !== config.Labels[LABEL.spec]) {
      if (label !== undefined) await containers.remove(id, signal);
      const declared = await containers.declaredVolumes(config.Image, signal);
      await containers.create(id, coverVolumes(config, declared, spec.template.tmpMb), signal);
    }
    freezer.forget(id);
    await containers.start(id, signal);
  }

  async function remove(id: SandboxId, signal: AbortSignal): Promise<void> {
    // A paused container of gVisor does not react to SIGKILL, so the Engine would wait ten seconds. If unpausing fails, the removal
    // still decides.
    if ((await containers.status(id, signal)) === "paused") await containers.tryAction(id, "unpause", signal).catch(() => {});
    await containers.remove(id, signal);
    freezer.forget(id);
    await containers.removeVolumes(id, signal);
    await storage.remove(id);
  }

  async function conditionOf(id: SandboxId, reported: ContainerStatus | undefined): Promise<SandboxCondition> {
    const status = freezer.actualStatus(id, reported);
    if (status === "running") return storage.isReadOnly(id) ? "read_only" : "running";
    if (status === "paused") return copying.has(id) ? "running" : "frozen";
    return (await storage.has(id)) ? "stopped" : "absent";
  }
  const inspect = async (id: SandboxId, signal: AbortSignal) => conditionOf(id, await containers.status(id, signal));

  async function takeSnapshot(id: SandboxId, snapshotId: SnapshotId, signal: AbortSignal): Promise<TakenSnapshot> {
    const isRunning = (await inspect(id, signal)) === "running";
    const undo = AbortSignal.timeout(UNDO_TIMEOUT_MS);
    const hold = isRunning ? { freeze: () => freezer.freeze(id, signal), thaw: () => freezer.thaw(id, undo) } : undefined;
    if (isRunning) copying.add(id);
    try {
      return await storage.snapshots.take(snapshotId, storage.folderOf(id), hold, signal);
    } finally {
      copying.delete(id);
    }
  }

  async function hibernate(id: SandboxId, signal: AbortSignal): Promise<void> {
    // A frozen daemon does not receive SIGTERM.
    await freezer.thaw(id, signal);
    await containers.stop(id, signal);
    await storage.close(id);
  }

  const operation = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    withLock(id, () => withDriverErrors(signal, work));

  return {
    name: "docker",
    traits: { hostBound: true, freezes: true, isolates: true, recipe: JSON.stringify([image, runtimeDir && daemonBuild(runtimeDir)]) },

    create: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const before = await inspect(spec.id, signal);
        try {
          await ensureRunning(spec, "new", signal);
        } catch (error) {
          // Delete the files only if this call has created them.
          if (before === "absent") await remove(spec.id, AbortSignal.timeout(UNDO_TIMEOUT_MS));
          throw error;
        }
      }),

    pause: (id, signal) => operation(id, signal, () => freezer.freeze(id, signal)),

    hibernate: (id, signal) => operation(id, signal, () => hibernate(id, signal)),

    resume: (spec, signal) =>
      operation(spec.id, signal, async () => {
        if ((await inspect(spec.id, signal)) === "absent") throw new AppError("disk_missing");
        // The kernel writes to the disk again only when it is mounted again.
        if (await storage.hasFailed(spec.id)) await hibernate(spec.id, signal);
        return { restarted: await ensureRunning(spec, "existing", signal) };
      }),

    destroy: (id, signal) => operation(id, signal, () => remove(id, signal)),
    takeSnapshot: (id, snapshotId, signal) => operation(id, signal, () => takeSnapshot(id, snapshotId, signal)),
    deleteSnapshot: (snapshotId, signal) => withDriverErrors(signal, () => storage.snapshots.remove(snapshotId)),
    listSnapshots: () => storage.snapshots.list(),
    inspect: (id, signal) => withDriverErrors(signal, () => inspect(id, signal)),

    list: (signal) =>
      withDriverErrors(signal, async () => {
        const known = await containers.list(signal);
        const ids = [...new Set([...known.keys(), ...(await storage.list())])].filter(isSandboxId);
        return await Promise.all(ids.map(async (id): Promise<SandboxSummary> => ({ id, condition: await conditionOf(id, known.get(id)) })));
      }),

    stats: (id, signal) => containers.stats(id, signal),
    liveLimits: {
      change: (id, limits, signal) => operation(id, signal, () => containers.changeLimits(id, limits, signal)),
      heldMemoryBytes: (id, signal) => withDriverErrors(signal, () => containers.heldMemoryBytes(id, signal)),
    },
    images: { fetch: (name, signal) => withDriverErrors(signal, () => containers.fetchImage(name, signal)) },
    // Only mounts of this server limit their size. The Engine does not say what each sandbox has in memory.
    ...(boundDisks && {
      volumes: storage.namedVolumes,
      unwrittenBytes: readUnwritten,
      flush: (id, signal) => withDriverErrors(signal, () => storage.flush(id, signal)),
    }),
    dial,

    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
    },
  };
}
