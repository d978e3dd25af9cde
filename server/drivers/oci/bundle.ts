import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Template } from "@berth/contract";
import { CPU_PERIOD_US, cpuQuotaUs, cpuShares } from "../host/isolation/cpu-shares.ts";
import { processLimits, PSEUDO_TERMINALS, readHostLimits } from "../host/isolation/host-limits.ts";
import type { BundleVolume } from "./filesystem/attach-volumes.ts";
import { VOLUME_PARENTS } from "./filesystem/unrestricted-mounts.ts";
import type { RuntimeKind } from "./runtime/runtime-kinds.ts";
import { seccompProfile } from "../host/isolation/seccomp.ts";
import { idMappings, type UserIds } from "./users/user-ids.ts";

export interface BundleOptions {
  template: Template;
  kind: RuntimeKind;
  root: string;
  // Entries of the template's root to mount into `root`. Absent if `root` is complete.
  rootEntries?: readonly string[] | undefined;
  // Folders of the host that are mounted into the sandbox.
  workspace: string;
  home: string;
  runtimeDir: string;
  egress: string;
  // The host's folder for the daemon's socket. Absent if the socket is in a tmpfs of the sandbox.
  control?: string | undefined;
  volumes?: readonly BundleVolume[];
  // The id of the user inside.
  user: number;
  // The sandbox's user namespace: the runtime has entered it before, joins the one at `path`, or creates one.
  namespace: "entered" | { ids: UserIds; path?: string | undefined };
  // undefined: there are no control groups, and each process has limits instead.
  cgroupsPath: string | undefined;
  env: Record<string, string>;
  args: readonly string[];
}

const MiB = 1024 * 1024;
const OOM_SCORE = 200;

// The config.json of the OCI runtime. This file and seccomp.ts contain all isolation of a sandbox.
export function bundleConfig(options: BundleOptions) {
  const { template, kind, root, user, namespace, env, args, cgroupsPath } = options;
  const limits = readHostLimits();
  const { openFiles } = processLimits(template, limits);
  return {
    ociVersion: "1.0.2",
    root: { path: root, readonly: true },
    hostname: "sandbox",
    process: {
      terminal: false,
      user: { uid: user, gid: user },
      args,
      cwd: "/workspace",
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      // If the host runs out of memory, the kernel kills sandboxes before the server.
      oomScoreAdj: Math.max(OOM_SCORE, limits.oomScore),
      rlimits: [
        ...(kind.inheritsLimits ? [] : [rlimit("NOFILE", openFiles), rlimit("CORE", 0)]),
        ...(cgroupsPath === undefined ? limitsWithoutGroup(template) : []),
      ],
    },
    mounts: mountsOf(options),
    linux: {
      namespaces: [
        ...["pid", "network", "ipc", "uts", "mount", "cgroup"].map((type) => ({ type })),
        ...(namespace === "entered" ? [] : [{ type: "user", ...(namespace.path === undefined ? {} : { path: namespace.path }) }]),
      ],
      // No other user of the host has these ids, so even a program that escapes owns nothing there.
      ...(namespace === "entered" ? {} : { uidMappings: idMappings(namespace.ids), gidMappings: idMappings(namespace.ids) }),
      ...(cgroupsPath === undefined ? {} : { cgroupsPath }),
      rootfsPropagation: "private",
      resources: {
        devices: [{ allow: false, access: "rwm" }],
        ...(cgroupsPath === undefined ? {} : groupLimits(template)),
      },
      seccomp: seccompProfile({ ...kind, keepsOwners: user === 0 }),
      maskedPaths: MASKED,
      readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    },
  };
}

const groupLimits = ({ memoryMb, cpus, pids }: Template) => ({
  memory: { limit: memoryMb * MiB, swap: memoryMb * MiB },
  cpu: { quota: cpuQuotaUs(cpus), period: CPU_PERIOD_US, shares: cpuShares(cpus) },
  pids: { limit: pids },
});

// Programs reserve more memory than they use: the daemon seven times as much.
export const DATA_RESERVE_BYTES = 1024 * MiB;

// The kernel counts processes per user and user namespace, so that limit is the sandbox's. The others are for each process and file;
// the driver watches their sums (processes/usage-watch.ts), and reads the limits of the sandbox from its first process.
const limitsWithoutGroup = ({ memoryMb, diskMb, pids }: Template) => [
  rlimit("NPROC", pids),
  rlimit("DATA", memoryMb * MiB + DATA_RESERVE_BYTES),
  rlimit("FSIZE", diskMb * MiB),
];

const rlimit = (name: string, value: number) => ({ type: `RLIMIT_${name}`, soft: value, hard: value });

const MASKED = [
  // Information about the kernel and about other users of the machine.
  "/proc/acpi /proc/asound /proc/interrupts /proc/kallsyms /proc/kcore /proc/keys /proc/key-users /proc/kmsg",
  "/proc/latency_stats /proc/modules /proc/sched_debug /proc/scsi /proc/slabinfo /proc/timer_list /proc/vmallocinfo",
].flatMap((paths) => paths.split(" "));

// Sandboxes see the host's /usr for its programs. These folders may contain private settings or sources.
const HIDDEN = ["/usr/etc", "/usr/local/etc", "/usr/src", "/usr/local/src"];

function mountsOf(options: BundleOptions) {
  const { template, kind, user, rootEntries = [], workspace, home, runtimeDir, egress, control, volumes = [] } = options;
  const tmpfs = (destination: string, ...options: string[]) => ({
    destination,
    type: "tmpfs",
    source: "tmpfs",
    options: ["nosuid", "nodev", ...options],
  });
  // Recursive options (rro, rnosuid …) also apply to everything that the operator has mounted below. gVisor does not know them
  // and does not need them, because it applies plain options to the whole tree.
  const bind = (destination: string, source: string, ...options: string[]) => ({
    destination,
    type: "bind",
    source,
    options: ["rbind", ...["nosuid", "nodev", ...options].map((option) => (kind.opaque ? option : `r${option}`))],
  });
  // An empty tmpfs, because gVisor ignores maskedPaths.
  const empty = (destination: string) => tmpfs(destination, "ro", "mode=755", "size=4k", "nr_inodes=1", "noexec");
  return [
    ...rootEntries.map((name) => bind(`/${name}`, join(template.root ?? "/", name), "ro")),
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
    tmpfs("/dev", "mode=755", "size=64k", "nr_inodes=256", "noexec"),
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", `max=${PSEUDO_TERMINALS}`],
    },
    tmpfs("/dev/shm", "mode=1777", "size=64m", "noexec"),
    tmpfs("/tmp", "mode=1777", `size=${template.tmpMb}m`, `nr_inodes=${template.tmpMb * 256}`),
    // The daemon's socket is in memory, so that the daemon starts even if the disk is full. A server without root has to enter the
    // folder as a user that the sandbox does not know.
    control === undefined
      ? tmpfs("/run/berth", "mode=755", `uid=${user}`, `gid=${user}`, "size=64k", "nr_inodes=16", "noexec")
      : bind("/run/berth", control, "noexec"),
    ...(template.root === undefined ? [bind("/usr", "/usr", "ro"), ...HIDDEN.filter(isFolder).map(empty)] : []),
    bind("/opt/berth", runtimeDir, "ro"),
    bind("/run/berth-egress", egress, "ro", "noexec"),
    bind("/workspace", workspace),
    bind("/home/user", home),
    // The runtime creates the mount points below these folders, and it must not do that in the root that sandboxes share.
    ...VOLUME_PARENTS.filter((parent) => volumes.some(({ path }) => path.startsWith(`${parent}/`))).map((parent) =>
      tmpfs(parent, "mode=755", "size=64k", "nr_inodes=128", "noexec"),
    ),
    ...volumes.map(({ path, source, mode }) => bind(path, source, ...(mode === "ro" ? ["ro"] : []))),
  ];
}

const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
