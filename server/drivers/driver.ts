import type { Socket } from "node:net";
import type { SandboxId, SnapshotId, Template, VolumeId, VolumeMode } from "@berth/contract";

// One way of running sandboxes. `testing/driver.suite.ts` checks this contract against every driver.
//
// Idempotence: the caller chooses the sandbox id before the call, so every method can be retried after a crash, a timeout or
// an abort. A retry finds what the first call has done and finishes it. Calls that change one sandbox run one after the other,
// in the order in which they were made; calls for different sandboxes run concurrently.
//
// Cancellation: a method rejects with `signal.reason` soon after the abort, or with `capacity_reached` if it was waiting for room.
// Repeating the call finishes partial work, and `destroy` removes it.
//
// Errors: every other rejection is an AppError. Its `cause` has the details for the log.
// - `sandbox_failed`: this sandbox cannot execute the call. A retry may help.
// - `sandbox_timeout`: the engine or the daemon did not answer in time. The outcome is unknown; use `inspect`.
// - `sandbox_unreachable`: `dial` cannot connect to the daemon.
// - `server_disk_full`: the machine has no space for the files.
// - `capacity_reached`: the machine or the cluster has no room for the sandbox now. Retry later.
// - `engine_unavailable`: the engine denies our requests. An operator has to restore the server's access.
export interface Driver extends AsyncDisposable {
  readonly name: DriverName;
  readonly traits: DriverTraits;

  // Creates and starts the sandbox, and resolves when its daemon answers. A sandbox that already runs is left as it is; a
  // frozen or stopped one is started over its files. If the call fails, it removes what it has created, but never files that
  // existed before. After `capacity_reached` the removal may go on; later calls for this sandbox wait for it.
  create(spec: SandboxSpec, signal: AbortSignal): Promise<void>;

  // Stops the sandbox from using the CPU. If `traits.freezes`, processes and memory are kept; otherwise this is `hibernate`.
  // No-op if the sandbox does not run.
  pause(id: SandboxId, signal: AbortSignal): Promise<void>;

  // Ends all processes of a running or frozen sandbox, which frees its memory, and keeps the files of workspace and home.
  // No-op if the sandbox is stopped.
  hibernate(id: SandboxId, signal: AbortSignal): Promise<void>;

  // Continues a frozen sandbox or starts a stopped one over its files, and resolves when its daemon answers. A running sandbox
  // is left as it is. `restarted` is true if the processes are new, so that the caller has to send the daemon its environment
  // again. A stopped sandbox takes the token of this call. The sandbox must exist: `disk_missing` without its files, and nothing is created. Never deletes files, even if it fails.
  // Processes end if the sandbox's disk is `read_only`, because it has to be mounted again.
  resume(spec: SandboxSpec, signal: AbortSignal): Promise<{ restarted: boolean }>;

  // Removes the sandbox and all its files, in whatever condition it is. No-op if it does not exist. Resolves when the sandbox has
  // ended and nothing finds it any more. Its files may be deleted afterwards, but a second call and the disposal of the driver wait
  // for that, and if it fails, `list` reports the sandbox.
  destroy(id: SandboxId, signal: AbortSignal): Promise<void>;

  // Whether a sandbox whose `create` has not ended has room: `given`, or `none` while it waits for room. null if the engine has not decided
  // yet. Absent if the engine refuses a sandbox without room at once.
  roomOf?(id: SandboxId): "given" | "none" | null;

  // Whether any sandbox waits for room, also one of another server. Present with `roomOf`.
  isFull?(): boolean;

  // The actual condition now. Rejects if the engine does not answer, so that a missing answer is not mistaken for a missing
  // sandbox.
  inspect(id: SandboxId, signal: AbortSignal): Promise<SandboxCondition>;

  // Lists every sandbox of this installation that has left anything behind, even if a failed call left it incomplete. Its condition
  // is `absent` if no files are left. A driver knows no sessions: a sandbox whose session was lost is listed like all others, and
  // the caller keeps it with `hibernate` (sessions/quarantine/). Rejects, and does not return a part of the list, if the engine
  // does not answer.
  list(signal: AbortSignal): Promise<SandboxSummary[]>;

  // The resources that a sandbox uses now. `cpuMs` counts from its last start.
  stats(id: SandboxId, signal: AbortSignal): Promise<SandboxStats>;

  // Bytes that sandboxes have written to their disks and the kernel still holds in memory. They are lost if the machine's disk has no room for them
  // when the kernel writes them. Absent if a write fails at once in that case.
  unwrittenBytes?(): number;

  // Makes the kernel write what this sandbox has written. Rejects if the machine's disk has no room for it. Present with `unwrittenBytes`.
  flush?(id: SandboxId, signal: AbortSignal): Promise<void>;

  // Opens a new connection to the daemon. The driver guarantees that the peer is a process of this sandbox: it follows no
  // symbolic link that the sandbox has placed, and connects to no address that now belongs to another sandbox. The peer itself
  // is untrusted, so the caller must bound what it reads. Rejects with `sandbox_unreachable`.
  dial(id: SandboxId, signal: AbortSignal): Promise<Socket>;

  // Copies the files of workspace and home, as they are at one moment, in whatever condition the sandbox is. A running sandbox is frozen
  // for as short as possible, and is running when this returns. Resolves when the copy would survive a power cut. A repeated call
  // replaces an incomplete copy. Rejects with `snapshots_unsupported` if the engine's storage cannot do this.
  takeSnapshot(id: SandboxId, snapshotId: SnapshotId, signal: AbortSignal): Promise<TakenSnapshot>;
  // No-op if it does not exist. Sandboxes that were created from it keep their files.
  deleteSnapshot(snapshotId: SnapshotId, signal: AbortSignal): Promise<void>;
  // Every snapshot of this installation of which anything is left, including incomplete ones.
  listSnapshots(signal: AbortSignal): Promise<SnapshotId[]>;

  // Returns the owner of a network address: the sandbox, the node that runs it (the source address of its connections if the network
  // masquerades them), or null for neither. Only for drivers whose sandboxes have their own network.
  addressOwner?(id: SandboxId, address: string, signal: AbortSignal): Promise<"sandbox" | "node" | null>;

  // Absent if the limits of a sandbox hold until it is stopped.
  readonly liveLimits?: DriverLiveLimits;

  // Absent if sandboxes of this driver have no image.
  readonly images?: DriverImages;

  // Absent if sandboxes of this driver cannot mount volumes.
  readonly volumes?: DriverVolumes;
}

// The limits of sandboxes that run or are frozen. A stopped sandbox has those of its next start.
export interface DriverLiveLimits {
  // No-op if the sandbox is stopped. Memory that the sandbox holds beyond its new limit makes the kernel end programs in it.
  change(id: SandboxId, limits: Pick<Template, "cpus" | "memoryMb">, signal: AbortSignal): Promise<void>;

  // The memory that the sandbox cannot give back: all but the cache of files. 0 if it is stopped.
  heldMemoryBytes(id: SandboxId, signal: AbortSignal): Promise<number>;
}

export interface DriverImages {
  // Fetches an image, so that a sandbox starts in it at once. Absent if the engine does this only when a sandbox starts.
  fetch?(image: string, signal: AbortSignal): Promise<void>;

  // Whether sandboxes can start in the image. Cheap. Absent if only the engine knows.
  stateOf?(image: string): ImageState;

  // Stores the image in a file (docker-archive) under a name that the caller chooses. Absent if the driver has no store of its own.
  importArchive?(path: string, name: string, signal: AbortSignal): Promise<void>;
}

export type ImageState =
  | { state: "absent" }
  | { state: "fetching"; percent: number }
  // New sandboxes get the image with this digest. `percent`: a newer one is being fetched.
  | { state: "ready"; digest: string; percent?: number }
  // A full sentence for people.
  | { state: "failed"; sentence: string };

// The volumes of partners. A volume is created when the first sandbox mounts it, and outlives its sandboxes.
export interface DriverVolumes {
  // `home`: only below /home/user.
  readonly paths: "all" | "home";

  // Deletes the files of a volume that no sandbox mounts. No-op if there are none.
  remove(id: VolumeId, signal: AbortSignal): Promise<void>;

  // Every volume of this installation of which anything is left.
  list(signal: AbortSignal): Promise<VolumeId[]>;
}

export type DriverName = "oci" | "docker" | "kubernetes" | "process";

export interface DriverTraits {
  // Sandboxes live on this machine, so only the server that runs here can act on them.
  hostBound: boolean;
  // `pause` keeps memory and processes.
  freezes: boolean;
  // Code in the sandbox cannot reach the host.
  isolates: boolean;
  // Templates may ask for a writable root.
  writableRoots?: boolean;
  // Whatever shapes every sandbox but is in no template, such as the default image and the build of the daemon. Sandboxes in the pool
  // that were made with another recipe are replaced.
  recipe?: string;
}

export interface SandboxSpec {
  id: SandboxId;
  template: Template;
  // SHA-256 (hex) of the token that callers of the daemon must send.
  tokenHash: string;
  // Where the files of a new sandbox come from. Without effect on a sandbox that has files.
  snapshot?: SnapshotId | undefined;
  // Replaces the template's image. It has no daemon of its own. A sandbox that is stopped changes its image when it starts.
  image?: string | undefined;
  // Mounted while the sandbox runs. Absent: none.
  volumes?: readonly SandboxVolume[];
}

export interface SandboxVolume {
  id: VolumeId;
  path: string;
  mode: VolumeMode;
  sizeMb: number;
}

export interface TakenSnapshot {
  // The space that the copy occupies; null if the engine does not say.
  bytes: number | null;
  // For how long the sandbox was frozen; 0 if it did not run.
  frozenMs: number;
}

// - running: the daemon should answer.
// - read_only: running, but its disk has failed, so nothing that it writes is kept.
// - frozen: paused, with its memory and processes.
// - stopped: only files exist.
// - absent: nothing exists.
// - unreachable: the sandbox ran when its machine last answered, and continues if the machine comes back in time. The engine
//   turns it into `running` or `stopped` within minutes.
export type SandboxCondition = "running" | "read_only" | "unreachable" | "frozen" | "stopped" | "absent";

export interface SandboxSummary {
  id: SandboxId;
  condition: SandboxCondition;
}

// null: the engine does not measure it, so only the daemon can report it. Kubernetes reports memory if the metrics API is installed, and
// nothing else. Only oci knows the disk, if it is bounded.
export interface SandboxStats {
  memoryBytes: number | null;
  cpuMs: number | null;
  pids: number | null;
  // The space that the files of the sandbox occupy on the machine's disk.
  diskBytes: number | null;
}

// Whether a driver works on this machine, for `berth doctor` and for `BERTH_DRIVER=auto`.
export interface DriverProbe {
  driver: DriverName;
  usable: boolean;
  // Full sentences for the operator: the findings, or what is missing and how to get it.
  reason: string;
}
