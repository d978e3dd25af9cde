import { mkdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { AppError, type SandboxId } from "@berth/contract";
import { makeFolder } from "../../bounded-io/make-folder.ts";
import { systemClock, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { withDriverErrors } from "../driver-errors.ts";
import type { Driver, SandboxSummary } from "../driver.ts";
import { daemonBuild } from "../host/daemon-build.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { runWork } from "../../event-loop/loop-work.ts";
import { createImageStore, type ImageStoreOptions } from "./images/image-store.ts";
import { keepImages } from "./images/upkeep.ts";
import { createContainers } from "./containers.ts";
import { asRoot, ROOTS_OF_ROOT, type Privileges } from "./privileges/privileges.ts";
import { offersWritableRoots } from "./filesystem/writable-root.ts";
import { createOrphanedCommands } from "./runtime/orphaned-commands.ts";

export interface OciDriverOptions {
  dataDir: string;
  // The folder with the daemon and its Node, mounted into sandboxes at /opt/berth.
  runtimeDir: string;
  log: Log;
  // The command of the OCI runtime: runc, crun or runsc, or a path that ends with one of them.
  runtime: string;
  // Whether each sandbox gets a disk of limited size, which needs loop devices.
  boundDisks: boolean;
  // MiB a second at which such a disk is written; 0 for no limit.
  diskWriteLimitMib?: number;
  // MiB that a copy of files leaves free.
  diskReserveMib?: number;
  // Absent: those of root.
  openPrivileges?: (dataDir: string) => Privileges;
  // Overrides where the root folders that sandboxes share are.
  rootsDir?: string;
  images?: Pick<ImageStoreOptions, "registry" | "limits">;
  // The images of templates, which are fetched at once and kept. Absent: images are not managed, because another process does that.
  imageNames?: ReadonlySet<string>;
  startTimeoutMs?: number;
  stopTimeoutMs?: number;
  clock?: Clock;
}

const CPU_PRIORITIES = { name: "processor priorities" };
const CPU_PRIORITIES_MS = 250;

// Runs containers through an OCI runtime, without an engine. The kernel keeps them running when the server ends. All state is in
// the data folder and in control groups, where the next server finds it.
export function createOciDriver(options: OciDriverOptions): Driver {
  const { runtimeDir, log, runtime, boundDisks, diskWriteLimitMib = 0, diskReserveMib = 0 } = options;
  const { openPrivileges = () => asRoot, startTimeoutMs = 30_000, stopTimeoutMs = 5_000, clock = systemClock } = options;
  mkdirSync(options.dataDir, { recursive: true });
  const dataDir = realpathSync(options.dataDir);
  const privileges = openPrivileges(dataDir);
  const { rootsDir = privileges.rootsDir } = options;
  if (rootsDir === ROOTS_OF_ROOT) makeFolder(dirname(ROOTS_OF_ROOT), 0o755);
  const images = createImageStore({ dataDir, files: privileges.files, log, diskReserveMib, ...options.images });
  const containers = createContainers({
    dataDir,
    runtimeDir,
    rootsDir,
    runtime,
    boundDisks,
    diskWriteLimitMib,
    diskReserveMib,
    startTimeoutMs,
    stopTimeoutMs,
    privileges,
    images,
    onExceeded: (id, exceeded) => log.warn("sandbox.limit_exceeded", { sandboxId: id, ...exceeded }),
    // `list` reports the sandbox until a repeated destroy has removed the rest.
    onRemovalError: (id, error) => log.warn("sandbox.removal_failed", { sandboxId: id, error: String(error) }),
  });
  const { imageNames } = options;
  const upkeep = imageNames && keepImages({ images, names: imageNames, inUse: containers.imagesInUse, clock, log });
  const updatePriorities = () =>
    containers.updateCpuPriorities().catch((error: unknown) => log.warn("sandbox.priorities_failed", { error: String(error) }));
  const priorities = clock.every(CPU_PRIORITIES_MS, () => runWork(CPU_PRIORITIES, updatePriorities));
  const withLock = createKeyedLock();
  const orphanedCommands = createOrphanedCommands(dataDir, runtime);
  // Sandboxes for which no command of an earlier server can still run.
  const checked = new Set<SandboxId>();

  const operation = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    withLock(id, () =>
      withDriverErrors(signal, async () => {
        if (!checked.has(id)) await orphanedCommands.kill(id);
        checked.add(id);
        return await work();
      }),
    );

  // If the daemon does not answer, freezes the sandbox again: a sandbox that counts as paused must not run.
  async function thaw(id: SandboxId, signal: AbortSignal): Promise<void> {
    containers.thaw(id);
    try {
      await containers.awaitDaemon(id, signal);
    } catch (error) {
      await undo(id, () => containers.freeze(id, AbortSignal.timeout(stopTimeoutMs)));
      throw error;
    }
  }

  // Cleans up after a failed start. A failure here is only logged, because the caller needs the error of the start. `list` still
  // reports the remains.
  async function undo(id: SandboxId, work: (id: SandboxId) => Promise<void>): Promise<void> {
    await work(id).catch((error: unknown) => log.warn("sandbox.undo_failed", { sandboxId: id, error: String(error) }));
  }

  function conditions(ids: readonly SandboxId[]): SandboxSummary[] {
    const failed = containers.failedDisks(ids);
    return ids.map((id) => {
      const condition = containers.condition(id);
      return { id, condition: condition === "running" && failed.has(id) ? "read_only" : condition };
    });
  }

  return {
    name: "oci",
    traits: {
      hostBound: true,
      freezes: true,
      isolates: true,
      writableRoots: offersWritableRoots({ runtime, boundDisks, asRoot: privileges === asRoot }),
      recipe: daemonBuild(runtimeDir),
    },

    create: (spec, signal) =>
      operation(spec.id, signal, async () => {
        const before = containers.condition(spec.id);
        if (before === "frozen") return await thaw(spec.id, signal);
        if (before === "running") return await containers.awaitDaemon(spec.id, signal);
        const startedMs = performance.now();
        try {
          await containers.start(spec, "new", signal);
        } catch (error) {
          // Delete the files only if this call has created them.
          await undo(spec.id, before === "absent" ? containers.remove : containers.stop);
          throw error;
        }
        log.debug("sandbox.started", { sandboxId: spec.id, driver: "oci", tookMs: Math.round(performance.now() - startedMs) });
      }),

    pause: (id, signal) =>
      operation(id, signal, async () => {
        if (containers.condition(id) === "running") await containers.freeze(id, signal);
      }),

    hibernate: (id, signal) =>
      operation(id, signal, async () => {
        await containers.requestStop(id);
        await containers.stop(id);
      }),

    resume: (spec, signal) =>
      operation(spec.id, signal, async () => {
        // The kernel writes to the disk again only when it is mounted again.
        if (await containers.hasFailedDisk(spec.id)) await containers.stop(spec.id);
        const before = containers.condition(spec.id);
        if (before === "absent") throw new AppError("disk_missing");
        if (before === "frozen") await thaw(spec.id, signal);
        if (before === "running") await containers.awaitDaemon(spec.id, signal);
        if (before !== "stopped") return { restarted: false };
        try {
          await containers.start(spec, "existing", signal);
        } catch (error) {
          await undo(spec.id, containers.stop);
          throw error;
        }
        return { restarted: true };
      }),

    destroy: (id, signal) =>
      operation(id, signal, async () => {
        const digest = containers.imageOf(id);
        await containers.removeInBackground(id);
        checked.delete(id);
        if (digest !== undefined) upkeep?.released(digest);
      }),

    takeSnapshot: (id, snapshotId, signal) => operation(id, signal, () => containers.takeSnapshot(id, snapshotId, signal)),
    deleteSnapshot: (snapshotId, signal) => withDriverErrors(signal, () => containers.deleteSnapshot(snapshotId)),
    listSnapshots: () => containers.listSnapshots(),
    inspect: async (id) => conditions([id])[0]!.condition,
    list: async () => conditions(containers.list()),
    ...(boundDisks && {
      unwrittenBytes: containers.unwrittenBytes,
      flush: (id, signal) => withDriverErrors(signal, () => containers.flush(id, signal)),
    }),
    stats: async (id) => containers.stats(id),
    liveLimits: {
      change: (id, limits, signal) => operation(id, signal, async () => containers.changeLimits(id, limits)),
      heldMemoryBytes: async (id) => containers.heldMemoryBytes(id),
    },
    images: {
      fetch: (name, signal) => withDriverErrors(signal, async () => void (await images.ensure(name, signal))),
      stateOf: (name) => images.state(name),
      importArchive: (path, name, signal) => withDriverErrors(signal, async () => void (await images.importArchive(path, name, signal))),
    },
    volumes: containers.namedVolumes,
    dial: containers.dial,
    // Sandboxes outlive the server, but the remains of destroyed ones should not.
    async [Symbol.asyncDispose]() {
      await priorities[Symbol.asyncDispose]();
      await images[Symbol.asyncDispose]();
      await upkeep?.[Symbol.asyncDispose]();
      await containers[Symbol.asyncDispose]();
      await privileges[Symbol.asyncDispose]();
    },
  };
}
