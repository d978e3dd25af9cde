import { basename } from "node:path";

// How the OCI runtimes differ.
export interface RuntimeKind {
  // Flags before the command, for every call.
  flags: readonly string[];
  // The host cannot look into the sandbox. The daemon's socket has to be in a folder of the host (control-folder.ts), and the
  // runtime opens the folders that it shows to the sandbox as the sandbox's root user (private-mounts.ts).
  opaque: boolean;
  // A denied system call fails with the errno that the filter names. If clone3 fails with another one, the C library does not
  // fall back to clone, and programs cannot create threads (observed with runsc 2024-07).
  honoursErrno: boolean;
  // Containers inherit the resource limits of the runtime's process (runtime.ts). The runtime cannot raise them in a user namespace
  // that it has joined, unless root has CAP_SYS_RESOURCE, which many container platforms withhold.
  inheritsLimits: boolean;
}

export type RuntimeName = "runc" | "crun" | "runsc";

export const RUNTIME_KINDS: Record<RuntimeName, RuntimeKind> = {
  runc: { flags: [], opaque: false, honoursErrno: true, inheritsLimits: true },
  crun: { flags: [], opaque: false, honoursErrno: true, inheritsLimits: true },
  // gVisor. Unix sockets work between sandbox and host, for the daemon and for egress. The network inside is loopback only. A helper
  // process opens files, never the process that runs the sandbox's programs. Our system call filter applies in addition to
  // gVisor's own kernel.
  runsc: {
    flags: ["--network=none", "--host-uds=all", "--overlay2=none", "--directfs=false", "--oci-seccomp"],
    opaque: true,
    honoursErrno: false,
    inheritsLimits: false,
  },
};

export const RUNTIME_NAMES = Object.keys(RUNTIME_KINDS) as RuntimeName[];

// The kind of a runtime by the name of its program. An unknown one is treated like runc.
export const kindOf = (command: string): RuntimeKind => RUNTIME_KINDS[basename(command) as RuntimeName] ?? RUNTIME_KINDS.runc;
