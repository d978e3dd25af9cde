import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Template } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { SandboxSpec } from "../driver.ts";
import { processLimits, sharedProcessLimits } from "../host/isolation/host-limits.ts";
import { PLAIN_PATH } from "../host/run.ts";
import type { NamedVolumes } from "../host/named-volumes/named-volumes.ts";
import { bypassPageCache, type SandboxDisks } from "../host/disks/sandbox-disks.ts";
import { bundleConfig } from "./bundle.ts";
import type { Cgroups } from "./cgroups/cgroups.ts";
import { openControlFolder } from "./filesystem/control-folder.ts";
import { prepareHostRoot, prepareTemplateRoot } from "./filesystem/root.ts";
import { attachVolumes } from "./filesystem/attach-volumes.ts";
import { privateMountPaths } from "./runtime/private-mounts.ts";
import type { RuntimeKind } from "./runtime/runtime-kinds.ts";
import type { Runtime } from "./runtime/runtime.ts";
import type { Privileges } from "./privileges/privileges.ts";
import type { AssignedIds } from "./users/user-ids.ts";

export interface LaunchDeps {
  runtime: Runtime;
  kind: RuntimeKind;
  cgroups: Cgroups;
  disks: SandboxDisks;
  namedVolumes: NamedVolumes;
  // MiB a second; 0 for no limit.
  diskWriteLimitMib: number;
  userIds: AssignedIds;
  privileges: Privileges;
  rootsDir: string;
  runtimeDir: string;
}

export interface LaunchFolders {
  // The sandbox's own folder: disk, bundle and process id.
  folder: string;
  egress: string;
  // Absent: the disk must exist. `source` finds the folder of the snapshot that a new one starts with.
  create?: { source: (() => string) | undefined };
}

const DAEMON_ENV = {
  BERTH_SOCKET: `/run/berth/${DAEMON_SOCKET}`,
  BERTH_WORKSPACE: "/workspace",
  BERTH_HOME: "/home/user",
  BERTH_EGRESS: "/run/berth-egress/proxy.sock",
  PATH: PLAIN_PATH,
  HOME: "/home/user",
  LANG: "C.UTF-8",
};
// Socket buffers may take this fraction of a sandbox's memory. All sockets of a machine share net.ipv4.tcp_mem and udp_mem, each
// of which is about a tenth of the machine's memory.
const SOCKET_BUFFERS_SHARE = 32;

export const socketBufferBytes = ({ memoryMb }: Pick<Template, "memoryMb">): number => (memoryMb * 1024 * 1024) / SOCKET_BUFFERS_SHARE;

export const pidFileOf = (folder: string) => join(folder, "init.pid");

// Opens the sandbox's disk, writes its bundle, and starts the container. Resolves when the container runs, which is before its
// daemon answers.
export async function launchContainer(
  { runtime, kind, cgroups, disks, namedVolumes, diskWriteLimitMib, userIds, privileges, rootsDir, runtimeDir }: LaunchDeps,
  { id, template, tokenHash, volumes: mounted = [] }: SandboxSpec,
  { folder, egress, create }: LaunchFolders,
  signal: AbortSignal,
): Promise<void> {
  const ids = userIds.of(folder, { sharesFiles: mounted.length > 0 });
  const [disk, namespace] = await Promise.allSettled([
    disks.open(folder, { ...(create && { create: { diskMb: template.diskMb, ...create } }), owner: ids.user, signal }),
    // gVisor has its own kernel, so nothing is charged to the creator of the namespace.
    kind.opaque && mounted.length === 0 ? undefined : privileges.openUserNamespace(ids, signal),
  ]);
  await using userNamespace = namespace.status === "fulfilled" ? namespace.value : undefined;
  if (disk.status === "rejected") throw disk.reason;
  if (namespace.status === "rejected") throw namespace.reason;
  const { workspace, home } = disk.value;
  const attached = await attachVolumes(
    namedVolumes,
    mounted,
    { folder, home, owner: ids.user, userNamespace: userNamespace?.path, files: privileges.files },
    signal,
  );
  const folders = { workspace, home, runtimeDir, egress, ...attached.sources };
  const privateMounts = kind.opaque ? { ...folders, control: await openControlFolder(folder, ids.user, signal) } : undefined;
  const config = bundleConfig({
    template,
    kind,
    ...rootOf(template, kind, { rootsDir, user: privileges.user }),
    ...(privateMounts ? privateMountPaths(privateMounts) : folders),
    volumes: attached.mounts(privateMounts ? privateMountPaths(attached.sources) : attached.sources),
    user: privileges.user,
    namespace: userNamespace?.enter ? "entered" : { ids, path: kind.opaque ? undefined : userNamespace?.path },
    cgroupsPath: cgroups.pathOf(id),
    args: ["/bin/sh", "/opt/berth/init.sh"],
    env: { ...DAEMON_ENV, BERTH_TOKEN_HASH: tokenHash },
  });
  writeFileSync(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  if (!kind.opaque) cgroups.limitSocketBuffers(id, socketBufferBytes(template));
  const devices = [disks.deviceOf(folder), ...namedVolumes.devicesIn(folder)].filter((device) => device !== undefined);
  const bypasses = Promise.all(devices.map(bypassPageCache));
  try {
    const enter = userNamespace?.enter;
    await runtime.start(
      id,
      {
        bundle: folder,
        pidFile: pidFileOf(folder),
        limits: enter ? sharedProcessLimits(template) : processLimits(template),
        privateMounts,
        ...(enter && { enter }),
      },
      signal,
    );
  } finally {
    await bypasses;
  }
  if (diskWriteLimitMib > 0) for (const device of devices) cgroups.limitWrites(id, device, diskWriteLimitMib * 1024 * 1024);
}

function rootOf(
  { root }: Template,
  kind: RuntimeKind,
  { rootsDir, user }: { rootsDir: string; user: number },
): { root: string; rootEntries?: string[] } {
  if (root === undefined) return { root: prepareHostRoot(rootsDir, user) };
  const { path, entries } = prepareTemplateRoot(rootsDir, root);
  return kind.opaque ? { root } : { root: path, rootEntries: entries };
}
