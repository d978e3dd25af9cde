import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isSandboxId, type SandboxId, type SnapshotId, type Template } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import { awaitDaemon } from "../daemon-health.ts";
import type { SandboxCondition, SandboxSpec, SandboxStats, TakenSnapshot } from "../driver.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import { createDiskSnapshots } from "../host/disks/disk-snapshots.ts";
import type { NamedVolumes } from "../host/named-volumes/named-volumes.ts";
import { createSandboxDisks } from "../host/disks/sandbox-disks.ts";
import { signalIfRunning } from "../host/signals.ts";
import { makeFolder } from "../../bounded-io/make-folder.ts";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";
import { createCpuPriorities } from "./cgroups/cpu-priorities.ts";
import { closeControlFolder, controlFolderOf } from "./filesystem/control-folder.ts";
import { createRemovals } from "./filesystem/removals.ts";
import { findUnrestrictedMounts, unrestrictedMountsError } from "./filesystem/unrestricted-mounts.ts";
import { unmountImage } from "./images/mount-image.ts";
import { createUsedImages } from "./images/used-images.ts";
import type { ImageStore } from "./images/image-store.ts";
import { launchContainer, pidFileOf, socketBufferBytes } from "./launch.ts";
import type { Privileges } from "./privileges/privileges.ts";
import type { OnExceeded } from "./processes/usage-watch.ts";
import { kindOf } from "./runtime/runtime-kinds.ts";
import { createRuntime } from "./runtime/runtime.ts";
import { createIdRanges } from "./users/id-ranges.ts";
import { createUserIds } from "./users/user-ids.ts";

// The containers of this installation's sandboxes, with their disks and folders. The caller makes sure that only one call at
// a time changes a sandbox.
export interface Containers extends AsyncDisposable {
  condition(id: SandboxId): SandboxCondition;
  // The sandboxes among these whose disk has turned read-only after an error.
  failedDisks(ids: readonly SandboxId[]): Set<SandboxId>;
  // See SandboxDisks.
  hasFailedDisk(id: SandboxId): Promise<boolean>;
  flush(id: SandboxId, signal: AbortSignal): Promise<void>;
  // See Driver.
  unwrittenBytes(): number;
  // Replaces whatever is left of an earlier container, and resolves when the daemon of the new one answers. If it fails, the caller
  // cleans up with `stop` or `remove`. Only `new` files are created if they do not exist.
  start(spec: SandboxSpec, files: "new" | "existing", signal: AbortSignal): Promise<void>;
  // Resolves when the daemon of a running container answers.
  awaitDaemon(id: SandboxId, signal: AbortSignal): Promise<void>;
  freeze(id: SandboxId, signal: AbortSignal): Promise<void>;
  thaw(id: SandboxId): void;
  takeSnapshot(id: SandboxId, snapshotId: SnapshotId, signal: AbortSignal): Promise<TakenSnapshot>;
  deleteSnapshot(snapshotId: SnapshotId): Promise<void>;
  listSnapshots(): Promise<SnapshotId[]>;
  // Asks the container to end, and waits for it for a short time. No-op if it does not run.
  requestStop(id: SandboxId): Promise<void>;
  // Kills the container and releases its mounts. The files stay. Idempotent.
  stop(id: SandboxId): Promise<void>;
  // Stops the container and deletes its files. Idempotent.
  remove(id: SandboxId): Promise<void>;
  // Like `remove`, but the files are deleted in the background, unless an earlier call has begun with that: then it waits for the end.
  removeInBackground(id: SandboxId): Promise<void>;
  list(): SandboxId[];
  stats(id: SandboxId): SandboxStats;
  // Must be called periodically. See CpuPriorities.
  updateCpuPriorities(): Promise<void>;
  // See DriverLiveLimits.
  changeLimits(id: SandboxId, limits: Pick<Template, "cpus" | "memoryMb">): void;
  heldMemoryBytes(id: SandboxId): number;
  dial(id: SandboxId, signal: AbortSignal): Promise<Socket>;
  readonly namedVolumes: NamedVolumes;
  // The digests of the images that sandboxes use, running or not.
  imagesInUse(): Set<string>;
  // The digest of the sandbox's image, if it has one.
  imageOf(id: SandboxId): string | undefined;
}

export interface ContainersOptions {
  // A real path, because the kernel reports mounts by their real paths.
  dataDir: string;
  runtimeDir: string;
  rootsDir: string;
  // The command of the OCI runtime.
  runtime: string;
  boundDisks: boolean;
  diskWriteLimitMib: number;
  diskReserveMib: number;
  startTimeoutMs: number;
  stopTimeoutMs: number;
  privileges: Privileges;
  images: ImageStore;
  onRemovalError(id: string, error: unknown): void;
  onExceeded: OnExceeded;
}

export function createContainers(options: ContainersOptions): Containers {
  const { dataDir, runtimeDir, rootsDir, privileges, startTimeoutMs, stopTimeoutMs } = options;
  const sandboxesDir = join(dataDir, "sandboxes");
  const stateDir = join(dataDir, "containers");
  const cgroups = privileges.openGroups({ dataDir, stateDir, onExceeded: options.onExceeded });
  const runtime = createRuntime(options.runtime, stateDir, startTimeoutMs);
  const kind = kindOf(options.runtime);
  const { files } = privileges;
  const disks = createSandboxDisks({ bounded: options.boundDisks, files });
  const namedVolumes = privileges.openVolumes({ dataDir, bounded: options.boundDisks });
  const { diskWriteLimitMib } = options;
  const launchDeps = {
    runtime,
    kind,
    cgroups,
    disks,
    namedVolumes,
    diskWriteLimitMib,
    userIds: createUserIds(sandboxesDir, privileges.ids),
    idRanges: createIdRanges(sandboxesDir),
    privileges,
    rootsDir,
    runtimeDir,
  };
  const removals = createRemovals({ parent: sandboxesDir, release: releaseMounts, onError: options.onRemovalError, files });
  // The runtime sets the weight of a group more than once, and the kernel refuses that in the background class.
  const starting = new Set<string>();
  const priorities = createCpuPriorities({ cgroups, list: () => listFolders().filter((name) => !starting.has(name)) });
  const snapshots = createDiskSnapshots({ dataDir, disks, files, diskReserveMib: options.diskReserveMib });
  const usedImages = createUsedImages([sandboxesDir, snapshots.folder], options.images);
  // Frozen for a snapshot, and about to run again.
  const copying = new Set<SandboxId>();

  const folderOf = (id: SandboxId) => join(sandboxesDir, id);
  const egressOf = (id: SandboxId) => join(dataDir, "egress", id);
  const isAlive = (id: SandboxId) => cgroups.isAlive(id);

  function listFolders(): string[] {
    return existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : [];
  }

  // The operator may mount file systems below a folder that sandboxes see, at any time. No sandbox may write to them.
  function checkMounts({ id, volumes = [], template }: SandboxSpec): void {
    const pid = initPidOf(id);
    const own = { volumes, writable: template.writableRoot ?? false };
    const found = pid === undefined ? [] : findUnrestrictedMounts(readFileIfReadable(`/proc/${pid}/mountinfo`) ?? "", own);
    if (found.length > 0) throw new Error(`${options.runtime}: ${unrestrictedMountsError(found)}`);
  }

  // The process id, on the host, of the container's first process. undefined if it has ended.
  function initPidOf(id: SandboxId): number | undefined {
    const pid = Number(readFileIfReadable(pidFileOf(folderOf(id))));
    return pid > 0 && cgroups.has(id, pid) ? pid : undefined;
  }

  // Removes a container, running or not, and everything that an earlier removal left. The files stay.
  async function removeContainer(id: SandboxId): Promise<void> {
    await cgroups.kill(id);
    await cgroups.remove(id);
    runtime.forget(id);
  }

  async function releaseMounts(folder: string): Promise<void> {
    await closeControlFolder(folder);
    await detachVolumes(folder);
    await unmountImage(folder);
    const device = disks.deviceOf(folder);
    // This comes before the device is released, because the next sandbox may get it at once.
    if (device !== undefined) cgroups.unlimitWrites(device);
    await disks.close(folder);
  }

  async function detachVolumes(folder: string): Promise<void> {
    for (const device of namedVolumes.devicesIn(folder)) cgroups.unlimitWrites(device);
    await namedVolumes.detach(folder);
  }

  async function stop(id: SandboxId): Promise<void> {
    await removeContainer(id);
    await releaseMounts(folderOf(id));
  }

  async function removeInBackground(id: SandboxId): Promise<void> {
    await removals.finish(id);
    await removeContainer(id);
    rmSync(egressOf(id), { recursive: true, force: true });
    // Not in the background: another session may mount them for writing as soon as this one is gone.
    await detachVolumes(folderOf(id));
    await removals.begin(id);
  }

  async function dial(id: SandboxId, signal: AbortSignal): Promise<Socket> {
    const pid = initPidOf(id);
    if (pid === undefined) throw new AppError("sandbox_unreachable", { cause: new Error("the sandbox does not run") });
    return await dialSocketFile(socketOf(id, pid), signal, () => cgroups.has(id, pid));
  }

  // In the sandbox's own view of its files if the host has one, so that the socket is in no folder of the host. The sandbox cannot
  // replace the folder, only change its content.
  const socketOf = (id: SandboxId, pid: number) =>
    join(kind.opaque ? controlFolderOf(folderOf(id)) : `/proc/${pid}/root/run/berth`, DAEMON_SOCKET);

  async function awaitResponse(id: SandboxId, signal: AbortSignal): Promise<void> {
    const pid = initPidOf(id);
    const socket = pid === undefined ? undefined : socketOf(id, pid);
    const alive = () => isAlive(id);
    await awaitDaemon({ dial: (bounded) => dial(id, bounded), alive, timeoutMs: startTimeoutMs, socket }, signal);
  }

  return {
    condition(id) {
      if (isAlive(id)) return cgroups.isFrozen(id) && !copying.has(id) ? "frozen" : "running";
      return existsSync(folderOf(id)) || runtime.has(id) || removals.unfinished().includes(id) ? "stopped" : "absent";
    },

    failedDisks(ids) {
      const failed = disks.failedAmong(ids.map(folderOf));
      return new Set(ids.filter((id) => failed.has(folderOf(id))));
    },

    hasFailedDisk: (id) => disks.hasFailed(folderOf(id)),
    flush: (id, signal) => disks.flush(folderOf(id), signal),

    unwrittenBytes: () => cgroups.list().reduce((sum, id) => sum + cgroups.unwrittenBytes(id), 0),

    async start(spec, files, signal) {
      const { id } = spec;
      const image = usedImages.choose(folderOf(id), spec.snapshot && snapshots.folderOf(spec.snapshot), spec);
      const isNew = mkdirSync(folderOf(id), { recursive: true, mode: 0o700 }) !== undefined;
      // A container is removed before its folder is, so without one there is none.
      if (!isNew) await removeContainer(id);
      makeFolder(join(dataDir, "egress"), 0o700);
      makeFolder(egressOf(id), 0o755);
      usedImages.record(folderOf(id), spec, image);
      const folders = { folder: folderOf(id), egress: egressOf(id), image };
      const create = { source: snapshots.sourceOf(spec.snapshot) };
      starting.add(id);
      try {
        await launchContainer(launchDeps, spec, files === "new" ? { ...folders, create } : folders, signal);
      } finally {
        starting.delete(id);
      }
      if (!kind.opaque) checkMounts(spec);
      await awaitResponse(id, signal);
    },

    awaitDaemon: awaitResponse,
    freeze: (id, signal) => cgroups.freeze(id, signal),
    thaw: (id) => cgroups.thaw(id),

    async takeSnapshot(id, snapshotId, signal) {
      const isRunning = isAlive(id) && !cgroups.isFrozen(id);
      const hold = isRunning ? { freeze: () => cgroups.freeze(id, signal), thaw: () => cgroups.thaw(id) } : undefined;
      if (isRunning) copying.add(id);
      try {
        const taken = await snapshots.take(snapshotId, folderOf(id), hold, signal);
        usedImages.copy(folderOf(id), snapshots.folderOf(snapshotId));
        return taken;
      } finally {
        copying.delete(id);
      }
    },

    deleteSnapshot: snapshots.remove,
    listSnapshots: snapshots.list,

    async requestStop(id) {
      const pid = initPidOf(id);
      if (pid === undefined) return;
      cgroups.thaw(id);
      signalIfRunning(pid, "SIGTERM");
      for (const endMs = performance.now() + stopTimeoutMs; isAlive(id) && performance.now() < endMs;) await sleep(3);
    },

    stop,

    removeInBackground,

    async remove(id) {
      await removeInBackground(id);
      await removals.finish(id);
    },

    list() {
      return [...new Set([...listFolders(), ...removals.unfinished(), ...runtime.list(), ...cgroups.list()].filter(isSandboxId))];
    },

    stats: (id) => ({ ...cgroups.stats(id), diskBytes: disks.usedBytes(folderOf(id)) }),
    changeLimits(id, limits) {
      if (!isAlive(id)) return;
      const { cpus, memoryMb } = limits;
      const bufferBytes = kind.opaque ? undefined : socketBufferBytes(limits);
      cgroups.setLimits(id, { cpus, memoryBytes: memoryMb * 1024 * 1024, socketBufferBytes: bufferBytes });
      priorities.forgetWeight(id);
    },
    heldMemoryBytes: (id) => (isAlive(id) ? cgroups.heldMemoryBytes(id) : 0),
    updateCpuPriorities: () => priorities.update(),
    dial,
    namedVolumes,
    imagesInUse: usedImages.digests,
    imageOf: (id) => usedImages.read(folderOf(id))?.digest,
    async [Symbol.asyncDispose]() {
      await removals[Symbol.asyncDispose]();
      await cgroups[Symbol.asyncDispose]();
    },
  };
}
