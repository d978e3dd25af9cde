import type { Socket } from "node:net";
import type { SandboxId, Template } from "@berth/contract";

// One way of making sandboxes. The id is ours and is chosen before the call, so every method may be repeated: a second
// `create` finds the sandbox of the first, a second `destroy` finds nothing and is content. Every method honours its
// signal: it stops soon after the abort and leaves nothing that a repeated call or `destroy` cannot finish.
// Errors are AppErrors: `sandbox_failed`, `sandbox_timeout` (the engine did not answer), `engine_unavailable` (it denies our
// requests), `capacity_reached` (it has no room), `sandbox_unreachable` (dial).
export interface Driver extends AsyncDisposable {
  readonly name: DriverName;
  readonly traits: DriverTraits;

  // Makes and starts the sandbox over an empty workspace (or the one that is there) and resolves when its daemon answers.
  create(spec: SandboxSpec, signal: AbortSignal): Promise<void>;
  // Takes the CPU away; memory and processes stay where `traits.freezes`, else the same as `hibernate`.
  pause(id: SandboxId, signal: AbortSignal): Promise<void>;
  // Frees the memory: stops every process, keeps the files. From running or frozen.
  hibernate(id: SandboxId, signal: AbortSignal): Promise<void>;
  // Brings a frozen or stopped sandbox back and resolves when its daemon answers. `restarted` means that the processes are
  // new ones over the old files, so that the daemon must be told its environment again. Never deletes anything.
  resume(spec: SandboxSpec, signal: AbortSignal): Promise<{ restarted: boolean }>;
  // Removes sandbox and files for good.
  destroy(id: SandboxId, signal: AbortSignal): Promise<void>;

  // What is really there now.
  inspect(id: SandboxId, signal: AbortSignal): Promise<SandboxCondition>;
  // Every sandbox of this installation that the engine (or the files) know of, whatever its condition.
  list(signal: AbortSignal): Promise<SandboxSummary[]>;
  stats(id: SandboxId, signal: AbortSignal): Promise<SandboxStats>;

  // A fresh connection to the daemon. The peer is untrusted: a driver makes sure that it is this sandbox and nothing else
  // (no symbolic link in a control folder leads anywhere), a caller bounds what it reads.
  dial(id: SandboxId, signal: AbortSignal): Promise<Socket>;
  // Whose address this is, where sandboxes have a network of their own: the sandbox's, that of the machine it runs on (its
  // connections come from there where a network masquerades them), or neither's.
  addressOwner?(id: SandboxId, address: string, signal: AbortSignal): Promise<"sandbox" | "node" | null>;
}

export type DriverName = "oci" | "docker" | "kubernetes" | "process";

export interface DriverTraits {
  // Sandboxes live on this machine: only the server that owns one can act on it.
  hostBound: boolean;
  // `pause` keeps memory and processes.
  freezes: boolean;
  // Code in the sandbox cannot reach the host.
  isolates: boolean;
  // What sandboxes are made of that no template says, such as the image of templates that name none. Blank ones that were
  // made of something else are thrown away.
  recipe?: string;
}

export interface SandboxSpec {
  id: SandboxId;
  template: Template;
  // SHA-256 (hex) of the token that the daemon asks for.
  tokenHash: string;
}

// running: the daemon should answer. frozen: paused with memory. stopped: files only. absent: nothing at all.
// unreachable: it ran when its machine was last heard of, and may go on when the machine comes back. The engine decides
// soon: it becomes `running` or `stopped`.
export type SandboxCondition = "running" | "unreachable" | "frozen" | "stopped" | "absent";

export interface SandboxSummary {
  id: SandboxId;
  condition: SandboxCondition;
}

// null: the engine does not tell. Kubernetes knows the memory where metrics are installed, and never the other two.
export interface SandboxStats {
  memoryBytes: number | null;
  cpuMs: number | null;
  pids: number | null;
}

// What `berth doctor` and the choice of `BERTH_DRIVER=auto` show.
export interface DriverProbe {
  driver: DriverName;
  usable: boolean;
  // One sentence: what was found, or what is missing and how to get it.
  reason: string;
}
