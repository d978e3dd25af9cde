import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { SandboxId } from "@berth/contract";
import type { SandboxSpec } from "../driver.ts";

// What a sandbox is in the Engine's words. Everything is decided here, in one pure function, so that a test can hold
// each hardening flag.

export const LABEL = { installation: "dev.berth.installation", sandbox: "dev.berth.sandbox", spec: "dev.berth.spec" } as const;

export interface ContainerSettings {
  installation: string;
  // For templates that name no image.
  image: string;
  // The user inside; on the host the same number (or the mapped one) owns the control folder.
  uid: number;
  // On the Engine's machine.
  folders: SandboxFolders;
  // The daemon's runtime, or null when the image has it at /opt/berth.
  runtimeDir: string | null;
}

// Below {dataDir}/sandboxes/{id}. The workspace and the home are named volumes over folders of ours rather than the
// Engine's own: they belong to the sandbox's user from the start, whatever the image holds at that place, and a copy of the
// data folder is a whole backup.
export interface SandboxFolders {
  control: string;
  egress: string;
  workspace: string;
  home: string;
}

const OPEN_FILES = 16_384;

export const containerName = (id: SandboxId) => `berth-${id}`;
export const volumeName = (id: SandboxId, kind: "workspace" | "home") => `berth-${id}-${kind}`;
export const imageOf = (spec: SandboxSpec, settings: Pick<ContainerSettings, "image">) => spec.template.image ?? settings.image;

export interface ContainerConfig {
  Image: string;
  Labels: Record<string, string>;
  HostConfig: { Mounts: { Target: string }[]; Tmpfs: Record<string, string>; [key: string]: unknown };
  [key: string]: unknown;
}

export function describeContainer(spec: SandboxSpec, settings: ContainerSettings): ContainerConfig {
  const { template } = spec;
  const labels = { [LABEL.installation]: settings.installation, [LABEL.sandbox]: spec.id };
  const memory = template.memoryMb * 1024 * 1024;
  const config = {
    Image: imageOf(spec, settings),
    User: `${settings.uid}:${settings.uid}`,
    Hostname: "sandbox",
    WorkingDir: "/workspace",
    Entrypoint: ["/opt/berth/bin/node", "/opt/berth/daemon.cjs"],
    Cmd: [],
    // The image's own health check would be one more process in every sandbox.
    Healthcheck: { Test: ["NONE"] },
    Env: environment(spec),
    StopSignal: "SIGTERM",
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      // Seccomp is not named: naming nothing is what selects the Engine's default profile.
      SecurityOpt: ["no-new-privileges:true"],
      Privileged: false,
      IpcMode: "private",
      CgroupnsMode: "private",
      Memory: memory,
      // Equal to Memory: no swap.
      MemorySwap: memory,
      NanoCpus: Math.round(template.cpus * 1e9),
      PidsLimit: template.pids,
      ShmSize: 64 * 1024 * 1024,
      Ulimits: [
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
      ],
      // When the host runs out of memory, a sandbox goes before the server does.
      OomScoreAdj: 500,
      // Owned by the user, because the runtime gives it the mode that the image's /tmp happens to have.
      Tmpfs: { "/tmp": `rw,exec,nosuid,nodev,mode=1777,uid=${settings.uid},gid=${settings.uid},size=${template.tmpMb}m` },
      // The daemon is no init: orphaned children need somebody to reap them.
      Init: true,
      RestartPolicy: { Name: "no" },
      // What the daemon prints is bounded on the host's disk.
      LogConfig: { Type: "json-file", Config: { "max-size": "1m", "max-file": "1" } },
      Mounts: mounts(spec, settings, labels),
      ...(template.runtime ? { Runtime: template.runtime } : {}),
    },
  };
  return { ...config, Labels: { ...labels, [LABEL.spec]: fingerprint(config) } };
}

// What the image declares as volumes the Engine would make writable, without a bound and under names that nobody knows: each
// becomes a bounded place in memory instead, like /tmp.
export function coverVolumes(config: ContainerConfig, declared: readonly string[], tmpMb: number): ContainerConfig {
  const { Mounts, Tmpfs } = config.HostConfig;
  const taken = new Set([...Mounts.map(({ Target }) => Target), ...Object.keys(Tmpfs)]);
  const covers = declared
    .map((path) => posix.resolve("/", path))
    .filter((path) => !taken.has(path))
    .map((Target) => ({ Type: "tmpfs", Target, TmpfsOptions: { SizeBytes: tmpMb * 1024 * 1024, Mode: 0o1777 } }));
  return { ...config, HostConfig: { ...config.HostConfig, Mounts: [...Mounts, ...covers] } };
}

function environment({ tokenHash }: SandboxSpec): string[] {
  return [
    `BERTH_TOKEN_HASH=${tokenHash}`,
    "BERTH_SOCKET=/run/berth/daemon.sock",
    "BERTH_WORKSPACE=/workspace",
    "BERTH_HOME=/home/user",
    "BERTH_EGRESS=/run/berth-egress/proxy.sock",
    "HOME=/home/user",
    "LANG=C.UTF-8",
    "PATH=/usr/local/bin:/usr/bin:/bin:/opt/berth/bin",
  ];
}

function mounts({ id }: SandboxSpec, { folders, runtimeDir }: ContainerSettings, labels: Record<string, string>) {
  const volume = (kind: "workspace" | "home", target: string) => ({
    Type: "volume",
    Source: volumeName(id, kind),
    Target: target,
    VolumeOptions: {
      NoCopy: true,
      Labels: labels,
      DriverConfig: { Name: "local", Options: { type: "none", o: "bind", device: folders[kind] } },
    },
  });
  const bind = (source: string, target: string, readOnly: boolean) => ({
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate" },
  });
  return [
    volume("workspace", "/workspace"),
    volume("home", "/home/user"),
    bind(folders.control, "/run/berth", false),
    bind(folders.egress, "/run/berth-egress", true),
    ...(runtimeDir === null ? [] : [bind(runtimeDir, "/opt/berth", true)]),
  ];
}

// A container that was made from other settings than today's is made anew at the next start; it holds no data.
const fingerprint = (config: object) => createHash("sha256").update(JSON.stringify(config)).digest("hex").slice(0, 32);
