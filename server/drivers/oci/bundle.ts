import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Template } from "@berth/contract";
import { CPU_PERIOD_US, cpuQuotaUs, cpuShares } from "../host/isolation/cpu-shares.ts";
import { type HostLimits, processLimits, PSEUDO_TERMINALS, readHostLimits } from "../host/isolation/host-limits.ts";
import type { BundleGroup } from "./cgroups/cgroups.ts";
import type { BundleVolume } from "./filesystem/attach-volumes.ts";
import { KEPT_FOLDERS, VOLUME_PARENTS } from "./filesystem/unrestricted-mounts.ts";
import type { RuntimeKind } from "./runtime/runtime-kinds.ts";
import { seccompProfile } from "../host/isolation/seccomp.ts";
import type { IdMappings, InsideUser } from "./users/id-mappings.ts";

export interface BundleOptions {
  template: Template;
  kind: RuntimeKind;
  root: string;
  // The folder that becomes the sandbox's root, of the template or of an image, and its entries to mount into `root`. Absent if `root`
  // is complete.
  rootSource?: { path: string; entries: readonly string[] } | undefined;
  // Whether the sandbox has the host's programs.
  hasHostPrograms: boolean;
  // The root is complete and belongs to this sandbox alone. Its programs may change it.
  writable?: boolean;
  // Folders of the host that are mounted into the sandbox.
  workspace: string;
  home: string;
  runtimeDir: string;
  egress: string;
  // The host's folder for the daemon's socket. Absent if the socket is in a tmpfs of the sandbox.
  control?: string | undefined;
  volumes?: readonly BundleVolume[];
  // The user of the sandbox's programs.
  user: InsideUser;
  // The sandbox builds images: its root user may become others, mount file systems and change its root, within the sandbox.
  builds?: boolean;
  // The sandbox's user namespace: the runtime has entered it before, joins the one at `path`, or creates one.
  namespace: "entered" | { mappings: IdMappings; path?: string | undefined };
  // undefined: there are no control groups, and each process has limits instead.
  group: BundleGroup | undefined;
  // The driver measures the sandbox's files, because its disk has no limit.
  measuresDisk?: boolean;
  env: Record<string, string>;
  args: readonly string[];
  // Read here if absent.
  hostLimits?: HostLimits;
}

// Package managers need these capabilities to change the owner of files and to switch users. They apply only to the sandbox's own users,
// which own nothing outside the sandbox.
const OF_ROOT = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETFCAP", "SETGID", "SETUID"].map((name) => `CAP_${name}`);
// buildah also needs these, over the sandbox's own mounts. The programs of a build have neither SYS_ADMIN nor SETPCAP.
const OF_BUILDS = [...OF_ROOT, ...["SYS_ADMIN", "SETPCAP", "SYS_CHROOT"].map((name) => `CAP_${name}`)];

const MiB = 1024 * 1024;
const OOM_SCORE = 200;

// The config.json of the OCI runtime. This file and seccomp.ts contain all isolation of a sandbox.
export function bundleConfig(options: BundleOptions) {
  const { template, kind, root, writable = false, user, builds = false, namespace, env, args, group, measuresDisk = false } = options;
  const capabilities = builds ? OF_BUILDS : writable && user.uid === 0 ? OF_ROOT : [];
  const { hostLimits: limits = readHostLimits() } = options;
  const { openFiles } = processLimits(template, limits);
  return {
    ociVersion: "1.0.2",
    root: { path: root, readonly: !writable },
    hostname: "sandbox",
    process: {
      terminal: false,
      user,
      args,
      cwd: "/workspace",
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      capabilities: { bounding: capabilities, effective: capabilities, inheritable: [], permitted: capabilities, ambient: [] },
      noNewPrivileges: true,
      // If the host runs out of memory, the kernel kills sandboxes before the server.
      oomScoreAdj: Math.max(OOM_SCORE, limits.oomScore),
      rlimits: [
        ...(kind.inheritsLimits ? [] : [rlimit("NOFILE", openFiles), rlimit("CORE", 0)]),
        ...(group ? [] : limitsWithoutGroup(template)),
        ...(measuresDisk ? [rlimit("FSIZE", template.diskMb * MiB)] : []),
      ],
    },
    mounts: mountsOf(options),
    linux: {
      namespaces: [
        ...["pid", "network", "ipc", "uts", "mount", "cgroup"].map((type) => ({ type })),
        ...(namespace === "entered" ? [] : [{ type: "user", ...(namespace.path === undefined ? {} : { path: namespace.path }) }]),
      ],
      // No other user of the host has these ids, so even a program that escapes owns nothing there.
      ...(namespace === "entered" ? {} : { uidMappings: namespace.mappings.uids, gidMappings: namespace.mappings.gids }),
      ...(group && { cgroupsPath: group.path }),
      rootfsPropagation: "private",
      resources: {
        devices: [{ allow: false, access: "rwm" }],
        ...(group && groupLimits(template, group)),
      },
      seccomp: seccompProfile({ ...kind, keepsOwners: user.uid === 0 && !writable && !builds, mounts: builds }),
      maskedPaths: MASKED,
      readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    },
  };
}

const groupLimits = ({ memoryMb, cpus, pids }: Template, { limitsCpu }: BundleGroup) => ({
  memory: { limit: memoryMb * MiB, swap: memoryMb * MiB },
  ...(limitsCpu && { cpu: { quota: cpuQuotaUs(cpus), period: CPU_PERIOD_US, shares: cpuShares(cpus) } }),
  pids: { limit: pids },
});

// Programs reserve more memory than they use: the daemon seven times as much.
export const DATA_RESERVE_BYTES = 1024 * MiB;

// The kernel counts processes per user and user namespace, so that limit is the sandbox's. The other one is for each process, like that
// of the size of a file; the driver watches the sums (processes/usage-watch.ts), and reads the limits from the first process.
const limitsWithoutGroup = ({ memoryMb, pids }: Template) => [rlimit("NPROC", pids), rlimit("DATA", memoryMb * MiB + DATA_RESERVE_BYTES)];

const rlimit = (name: string, value: number) => ({ type: `RLIMIT_${name}`, soft: value, hard: value });

const MASKED = [
  // Information about the kernel and about other users of the machine.
  "/proc/acpi /proc/asound /proc/interrupts /proc/kallsyms /proc/kcore /proc/keys /proc/key-users /proc/kmsg",
  "/proc/latency_stats /proc/modules /proc/sched_debug /proc/scsi /proc/slabinfo /proc/timer_list /proc/vmallocinfo",
].flatMap((paths) => paths.split(" "));

// Sandboxes see the host's /usr for its programs. These folders may contain private settings or sources.
const HIDDEN = ["/usr/etc", "/usr/local/etc", "/usr/src", "/usr/local/src"];

function mountsOf(options: BundleOptions) {
  const {
    template,
    kind,
    root,
    user,
    rootSource,
    hasHostPrograms,
    writable = false,
    workspace,
    home,
    runtimeDir,
    egress,
    control,
    volumes = [],
  } = options;
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
  // The runtime creates the mount points below these folders, and it must not do that in the root that sandboxes share.
  const volumeParents = VOLUME_PARENTS.filter((parent) => volumes.some(({ path }) => path.startsWith(`${parent}/`)));
  return [
    // Programs can rename a folder that contains mount points, but not a mount point. So every start finds all mount points in their
    // place, and the path to the daemon's socket never leads elsewhere.
    ...(writable ? [tmpfs("/run", "mode=755", "size=64m", "nr_inodes=16k")] : []),
    ...(writable ? KEPT_FOLDERS.filter((path) => !volumeParents.includes(path)).map((path) => bind(path, join(root, path))) : []),
    ...(rootSource?.entries ?? []).map((name) => bind(`/${name}`, join(rootSource!.path, name), "ro")),
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
      ? tmpfs("/run/berth", "mode=755", `uid=${user.uid}`, `gid=${user.gid}`, "size=64k", "nr_inodes=16", "noexec")
      : bind("/run/berth", control, "noexec"),
    ...(hasHostPrograms ? [bind("/usr", "/usr", "ro"), ...HIDDEN.filter(isFolder).map(empty)] : []),
    bind("/opt/berth", runtimeDir, "ro"),
    bind("/run/berth-egress", egress, "ro", "noexec"),
    bind("/workspace", workspace),
    bind("/home/user", home),
    // buildah expects the folder.
    ...(options.builds ? [empty("/sys")] : []),
    ...volumeParents.map((parent) => tmpfs(parent, "mode=755", "size=64k", "nr_inodes=128", "noexec")),
    ...volumes.map(({ path, source, mode }) => bind(path, source, ...(mode === "ro" ? ["ro"] : []))),
  ];
}

const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
