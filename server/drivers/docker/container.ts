import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { SandboxId, Template } from "@berth/contract";
import { cpuShares } from "../host/isolation/cpu-shares.ts";
import { CLEARED_VARIABLES } from "../cleared-variables.ts";
import type { SandboxSpec } from "../driver.ts";
import { PSEUDO_TERMINALS } from "../host/isolation/host-limits.ts";
import { FILTERED_ARCHITECTURES, seccompProfile } from "../host/isolation/seccomp.ts";

// The configuration of a sandbox's container. It is one pure function, so that a test can check each hardening flag.

export const LABEL = { installation: "dev.berth.installation", sandbox: "dev.berth.sandbox", spec: "dev.berth.spec" } as const;

export interface ContainerSettings {
  installation: string;
  // The image of templates that name none.
  image: string;
  // The user inside, who also owns the sandbox's folders on the host.
  uid: number;
  // Paths on the Engine's machine.
  folders: SandboxFolders;
  // The folder with the daemon and its Node. null if the image has them at /opt/berth.
  runtimeDir: string | null;
}

// Folders in the data folder. Workspace and home are named volumes that bind our folders, not volumes that the Engine stores: they
// belong to the sandbox's user from the start, whatever the image has at that path, and a copy of the data folder is a complete
// backup.
export interface SandboxFolders {
  control: string;
  egress: string;
  // The file that the sandbox sees at /etc/hosts.
  hosts: string;
  workspace: string;
  home: string;
  // Has a mount for each volume of a partner, by its id.
  volumes: string;
}

const OPEN_FILES = 16_384;

export const containerName = (id: SandboxId) => `berth-${id}`;
export const VOLUME_KINDS = ["workspace", "home", "terminals"] as const;
export const volumeName = (id: SandboxId, kind: (typeof VOLUME_KINDS)[number]) => `berth-${id}-${kind}`;
export const imageOf = (spec: SandboxSpec, settings: Pick<ContainerSettings, "image">) =>
  spec.image ?? spec.template.image ?? settings.image;

export interface ContainerConfig {
  Image: string;
  Labels: Record<string, string>;
  HostConfig: { Mounts: { Target: string }[]; Tmpfs: Record<string, string>; [key: string]: unknown };
  [key: string]: unknown;
}

// The limits that the Engine can change while the container runs.
export const liveLimits = ({ cpus, memoryMb }: Pick<Template, "cpus" | "memoryMb">) => ({
  Memory: memoryMb * 1024 * 1024,
  // Equal to Memory: no swap.
  MemorySwap: memoryMb * 1024 * 1024,
  NanoCpus: Math.round(cpus * 1e9),
  CpuShares: cpuShares(cpus),
});

export function describeContainer(spec: SandboxSpec, settings: ContainerSettings): ContainerConfig {
  const { template } = spec;
  const labels = { [LABEL.installation]: settings.installation, [LABEL.sandbox]: spec.id };
  const config = {
    Image: imageOf(spec, settings),
    User: `${settings.uid}:${settings.uid}`,
    Hostname: "sandbox",
    WorkingDir: "/workspace",
    Entrypoint: ["/opt/berth/lib/sh", "/opt/berth/init.sh"],
    Cmd: [],
    // The health check of the image would run additional processes in every sandbox.
    Healthcheck: { Test: ["NONE"] },
    Env: environment(spec),
    StopSignal: "SIGTERM",
    // The runtime still makes an empty network namespace. With the network enabled, Engines before 28 also start their own large program
    // for each container, only to take note of the namespace, which is half of the start.
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true", ...filterOptions()],
      Privileged: false,
      IpcMode: "private",
      CgroupnsMode: "private",
      ...liveLimits(template),
      PidsLimit: template.pids,
      ShmSize: 64 * 1024 * 1024,
      Ulimits: [
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
      ],
      // If the host runs out of memory, the kernel kills sandboxes before the server.
      OomScoreAdj: 500,
      // Owned by the user, because the runtime gives it the mode of the image's /tmp, which may be too strict.
      Tmpfs: { "/tmp": `rw,exec,nosuid,nodev,mode=1777,uid=${settings.uid},gid=${settings.uid},size=${template.tmpMb}m` },
      // The daemon does not reap orphaned processes, so an init process has to.
      Init: true,
      RestartPolicy: { Name: "no" },
      // Limits the space that the daemon's output takes on the host's disk.
      LogConfig: { Type: "json-file", Config: { "max-size": "1m", "max-file": "1" } },
      Mounts: mounts(spec, settings, labels),
      ...(template.runtime ? { Runtime: template.runtime } : {}),
    },
  };
  return { ...config, Labels: { ...labels, [LABEL.spec]: fingerprint(config) } };
}

// Mounts a small tmpfs over each volume that the image declares. The Engine would otherwise create an anonymous, writable volume
// without a size limit.
export function coverVolumes(config: ContainerConfig, declared: readonly string[], tmpMb: number): ContainerConfig {
  const { Mounts, Tmpfs } = config.HostConfig;
  const taken = new Set([...Mounts.map(({ Target }) => Target), ...Object.keys(Tmpfs)]);
  const covers = declared
    .map((path) => posix.resolve("/", path))
    .filter((path) => !taken.has(path))
    .map((Target) => ({ Type: "tmpfs", Target, TmpfsOptions: { SizeBytes: tmpMb * 1024 * 1024, Mode: 0o1777 } }));
  return { ...config, HostConfig: { ...config.HostConfig, Mounts: [...Mounts, ...covers] } };
}

// Uses the system call filter of the oci driver, because the Engine's default differs between versions and allows most socket
// families. On an architecture for which we have no filter, the Engine's default applies.
function filterOptions(architecture: NodeJS.Architecture = process.arch): string[] {
  if (!FILTERED_ARCHITECTURES.includes(architecture)) return [];
  return [`seccomp=${JSON.stringify(seccompProfile({ honoursErrno: true }, architecture))}`];
}

// PATH and LANG are those of the image; init.sh adds our programs.
function environment({ tokenHash }: SandboxSpec): string[] {
  return [
    `BERTH_TOKEN_HASH=${tokenHash}`,
    "BERTH_SOCKET=/run/berth/daemon.sock",
    "BERTH_WORKSPACE=/workspace",
    "BERTH_HOME=/home/user",
    "BERTH_EGRESS=/run/berth-egress/proxy.sock",
    "HOME=/home/user",
    ...Object.entries(CLEARED_VARIABLES).map(([name, value]) => `${name}=${value}`),
  ];
}

function mounts(
  { id, template, volumes: mounted = [] }: SandboxSpec,
  { folders, runtimeDir }: ContainerSettings,
  labels: Record<string, string>,
) {
  const volume = (kind: (typeof VOLUME_KINDS)[number], target: string, options: LocalVolumeOptions) => ({
    Type: "volume",
    Source: volumeName(id, kind),
    Target: target,
    VolumeOptions: { NoCopy: true, Labels: labels, DriverConfig: { Name: "local", Options: options } },
  });
  const folder = (path: string) => ({ type: "none", o: "bind", device: path });
  // The mount is not recursive, because older Engines would leave mounts below the folder writable.
  const bind = (source: string, target: string, { readOnly }: { readOnly: boolean }) => ({
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate", NonRecursive: true },
  });
  return [
    volume("workspace", "/workspace", folder(folders.workspace)),
    volume("home", "/home/user", folder(folders.home)),
    // Replaces the Engine's /dev/pts, which has no limit. Other runtimes, such as gVisor, have their own terminals.
    ...(template.runtime === undefined ? [volume("terminals", "/dev/pts", TERMINALS)] : []),
    bind(folders.control, "/run/berth", { readOnly: false }),
    bind(folders.egress, "/run/berth-egress", { readOnly: true }),
    // The Engine writes none if the network is disabled.
    bind(folders.hosts, "/etc/hosts", { readOnly: true }),
    ...mounted.map(({ id: volumeId, path, mode }) => bind(posix.join(folders.volumes, volumeId), path, { readOnly: mode === "ro" })),
    ...(runtimeDir === null ? [] : [bind(runtimeDir, "/opt/berth", { readOnly: true })]),
  ];
}

interface LocalVolumeOptions {
  type: string;
  o: string;
  device: string;
}

const TERMINALS: LocalVolumeOptions = {
  type: "devpts",
  o: `nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,max=${PSEUDO_TERMINALS}`,
  device: "devpts",
};

// A container with another fingerprint is recreated at the next start. It contains no data.
const fingerprint = (config: object) => createHash("sha256").update(JSON.stringify(config)).digest("hex").slice(0, 32);
