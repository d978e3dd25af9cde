import { basename } from "node:path";

// What sets one OCI runtime apart from another.
export interface RuntimeKind {
  // Before the command, for every call.
  flags: readonly string[];
  // The host cannot look into the sandbox: the daemon's socket has to be in a folder of the host (control-folder.ts), and
  // folders that are shown to the sandbox are opened as its own root user (private-mounts.ts).
  opaque: boolean;
  // It answers a refused system call with the error that the filter names. With another, the C library does not turn to
  // the older way of making threads when it is refused clone3, and there are none (seen with runsc 2024-07).
  honoursErrno: boolean;
  // Its containers have the resource limits that it was started with (runtime.ts). It could not set them in a user
  // namespace that it has joined, unless root has CAP_SYS_RESOURCE, which many places withhold.
  inheritsLimits: boolean;
}

export type RuntimeName = "runc" | "crun" | "runsc";

export const RUNTIME_KINDS: Record<RuntimeName, RuntimeKind> = {
  runc: { flags: [], opaque: false, honoursErrno: true, inheritsLimits: true },
  crun: { flags: [], opaque: false, honoursErrno: true, inheritsLimits: true },
  // gVisor. Sockets pass between sandbox and host, which connects the daemon and the way out; the network inside is
  // loopback; files are opened by a process beside the sandbox, never by the one that runs its programs; and our filter of
  // system calls stands before gVisor's own kernel too.
  runsc: {
    flags: ["--network=none", "--host-uds=all", "--overlay2=none", "--directfs=false", "--oci-seccomp"],
    opaque: true,
    honoursErrno: false,
    inheritsLimits: false,
  },
};

export const RUNTIME_NAMES = Object.keys(RUNTIME_KINDS) as RuntimeName[];

// By the name of the program; what is unknown is taken for one that behaves like runc.
export const kindOf = (command: string): RuntimeKind => RUNTIME_KINDS[basename(command) as RuntimeName] ?? RUNTIME_KINDS.runc;
