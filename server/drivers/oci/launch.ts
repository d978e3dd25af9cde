import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, type Template } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { SandboxSpec } from "../driver.ts";
import { processLimits, readHostLimits, sharedProcessLimits } from "../host/isolation/host-limits.ts";
import { PLAIN_PATH } from "../host/run.ts";
import type { NamedVolumes } from "../host/named-volumes/named-volumes.ts";
import { bypassPageCache } from "../host/disks/loop-devices.ts";
import type { SandboxDisk, SandboxDisks } from "../host/disks/sandbox-disks.ts";
import { bundleConfig, type BundleOptions } from "./bundle.ts";
import type { Cgroups } from "./cgroups/cgroups.ts";
import { openControlFolder } from "./filesystem/control-folder.ts";
import { prepareHostRoot, prepareTemplateRoot } from "./filesystem/root.ts";
import { mountImage, unmountImage } from "./images/mount-image.ts";
import type { ImageRoot } from "./images/image-store.ts";
import { attachVolumes } from "./filesystem/attach-volumes.ts";
import { prepareWritableRoot, type WritableRoot } from "./filesystem/writable-root.ts";
import { privateMountPaths, type PrivateMounts } from "./runtime/private-mounts.ts";
import type { RuntimeKind } from "./runtime/runtime-kinds.ts";
import type { Runtime } from "./runtime/runtime.ts";
import type { Privileges } from "./privileges/privileges.ts";
import { hostIdOf, ROOT_USER, type InsideUser } from "./users/id-mappings.ts";
import type { IdRanges } from "./users/id-ranges.ts";
import { mappingsOf, openNamespaces } from "./privileges/sandbox-namespaces.ts";
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
  idRanges: IdRanges;
  privileges: Privileges;
  rootsDir: string;
  runtimeDir: string;
}

export interface LaunchFolders {
  // The sandbox's own folder: disk, bundle and process id.
  folder: string;
  egress: string;
  // Absent: the sandbox has the template's root, or the host's programs.
  image?: ImageRoot | undefined;
  // Absent: the disk must exist. `source` finds the folder of the snapshot that a new one starts with.
  create?: { source: (() => string) | undefined };
}

export const DAEMON_ENV = {
  BERTH_SOCKET: `/run/berth/${DAEMON_SOCKET}`,
  BERTH_WORKSPACE: "/workspace",
  BERTH_HOME: "/home/user",
  BERTH_EGRESS: "/run/berth-egress/proxy.sock",
  PATH: PLAIN_PATH,
  HOME: "/home/user",
  LANG: "C.UTF-8",
};
export const DAEMON_COMMAND = ["/opt/berth/lib/sh", "/opt/berth/init.sh"];
// Socket buffers may take this fraction of a sandbox's memory. All sockets of a machine share net.ipv4.tcp_mem and udp_mem, each
// of which is about a tenth of the machine's memory.
const SOCKET_BUFFERS_SHARE = 32;

export const socketBufferBytes = ({ memoryMb }: Pick<Template, "memoryMb">): number => (memoryMb * 1024 * 1024) / SOCKET_BUFFERS_SHARE;

export const pidFileOf = (folder: string) => join(folder, "init.pid");

// Opens the sandbox's disk, writes its bundle, and starts the container. Resolves when the container runs, which is before its
// daemon answers.
export async function launchContainer(
  { runtime, kind, cgroups, disks, namedVolumes, diskWriteLimitMib, userIds, idRanges, privileges, rootsDir, runtimeDir }: LaunchDeps,
  { id, template, tokenHash, volumes: mounted = [] }: SandboxSpec,
  { folder, egress, image, create }: LaunchFolders,
  signal: AbortSignal,
): Promise<void> {
  const writable = template.writableRoot ?? false;
  const ids = userIds.of(folder, { sharesFiles: mounted.length > 0 });
  const builds = privileges.builds ?? false;
  const user = builds ? ROOT_USER : writable ? (image?.config.user ?? ROOT_USER) : ordinaryUser(privileges, image);
  const users = { ids, user, first: writable || builds ? idRanges.of(folder) : undefined };
  const mappings = mappingsOf(users);
  const hostLimits = readHostLimits();
  const limits = processLimits(template, hostLimits);
  const [opened, namespaces] = await Promise.allSettled([
    disks.open(folder, {
      ...(create && { create: { diskMb: template.diskMb, ...create } }),
      owner: ids.user,
      keepsOwners: writable,
      signal,
    }),
    // gVisor has its own kernel, so nothing is charged to the creator of the namespace.
    kind.opaque && mounted.length === 0
      ? undefined
      : openNamespaces(privileges, { ...users, limits, hasVolumes: mounted.length > 0 }, signal),
  ]);
  await using held = namespaces.status === "fulfilled" ? namespaces.value : undefined;
  if (opened.status === "rejected") throw opened.reason;
  if (namespaces.status === "rejected") throw namespaces.reason;
  const disk = opened.value;
  const userNamespace = held?.programs;
  const attached = await attachVolumes(
    namedVolumes,
    mounted,
    { folder, home: disk.home, owner: ids.user, userNamespace: held?.volumes.path, files: privileges.files },
    signal,
  );
  const folders = { workspace: disk.workspace, home: disk.home, runtimeDir, egress, ...attached.sources };
  const stagedFolders = kind.opaque ? { ...folders, control: await openControlFolder(folder, ids.user, signal) } : undefined;
  const root = writable
    ? writableRoot(lowerOf(template, image), disk, {
        programs: held?.programs.path ?? "",
        disk: held?.disk?.path ?? "",
        owner: hostIdOf(mappings, ROOT_USER),
      })
    : rootOf(image ? await mountImage(folder, image, kind.opaque ? undefined : userNamespace) : template.root, kind, {
        rootsDir,
        user: user.uid,
      });
  const config = bundleConfig({
    template,
    kind,
    ...(stagedFolders ? privateMountPaths(stagedFolders) : folders),
    volumes: attached.mounts(stagedFolders ? privateMountPaths(attached.sources) : attached.sources),
    ...root.bundle,
    user,
    builds,
    namespace: userNamespace?.enter ? "entered" : { mappings, path: kind.opaque ? undefined : userNamespace?.path },
    group: cgroups.groupOf(id),
    measuresDisk: privileges.measuresDisks,
    args: DAEMON_COMMAND,
    hostLimits,
    env: { ...envOf(image), BERTH_TOKEN_HASH: tokenHash },
  });
  writeFileSync(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  cgroups.prepare(id, { socketBufferBytes: kind.opaque ? undefined : socketBufferBytes(template) });
  const devices = [disks.deviceOf(folder), ...namedVolumes.devicesIn(folder)].filter((device) => device !== undefined);
  const bypasses = Promise.all(devices.map(bypassPageCache));
  try {
    const enter = userNamespace?.enter;
    await runtime.start(
      id,
      {
        bundle: folder,
        pidFile: pidFileOf(folder),
        limits: enter ? sharedProcessLimits(template, hostLimits) : limits,
        privateMounts: stagedFolders ? { folders: stagedFolders } : root.mounts,
        ...(enter && { enter }),
      },
      signal,
    );
  } finally {
    // By now the container has its own mount of the image. If the host kept one for each sandbox, a backup would read the image that often.
    await Promise.all([bypasses, unmountImage(folder)]);
  }
  if (diskWriteLimitMib > 0) for (const device of devices) cgroups.limitWrites(id, device, diskWriteLimitMib * 1024 * 1024);
}

// A sandbox without ids of its own has only the user 0.
function ordinaryUser(privileges: Privileges, image: ImageRoot | undefined): InsideUser {
  const uid = privileges.user === 0 ? 0 : (image?.config.user?.uid ?? privileges.user);
  return { uid, gid: uid };
}

// The root of a sandbox, as the runtime gets it.
interface LaunchRoot {
  bundle: Pick<BundleOptions, "root" | "rootSource" | "hasHostPrograms" | "writable"> & Partial<Pick<BundleOptions, "workspace" | "home">>;
  mounts?: PrivateMounts | undefined;
}

// `source` is a folder of the template or of an image. Absent: the host's programs.
function rootOf(source: string | undefined, kind: RuntimeKind, { rootsDir, user }: { rootsDir: string; user: number }): LaunchRoot {
  if (source === undefined) return { bundle: { root: prepareHostRoot(rootsDir, user), hasHostPrograms: true } };
  const { path, entries } = prepareTemplateRoot(rootsDir, source);
  if (kind.opaque) return { bundle: { root: source, hasHostPrograms: false } };
  return { bundle: { root: path, rootSource: { path: source, entries }, hasHostPrograms: false } };
}

type Lower = Pick<WritableRoot, "lower" | "name">;

// The changes are kept by the digest of an image, whatever name it has.
function lowerOf({ root }: Template, image: ImageRoot | undefined): Lower | undefined {
  if (image) return { lower: image.root, name: image.digest };
  return root === undefined ? undefined : { lower: root, name: root };
}

// The files in workspace and home belong to all users of the sandbox, and have other ids on disk.
function writableRoot(lower: Lower | undefined, disk: SandboxDisk, { programs, disk: ofDisk, owner }: WritableRootUsers): LaunchRoot {
  if (lower === undefined) throw new AppError("sandbox_failed", { cause: new Error("a writable root needs a root or an image") });
  const { path, mounts } = prepareWritableRoot({ ...lower, changes: disk.rootChanges, userNamespace: programs, owner });
  const { workspace, home } = disk;
  const mapped = (source: string) => ({ source, mode: "rw", userNamespace: ofDisk }) as const;
  return {
    bundle: { root: path, hasHostPrograms: false, writable: true, ...privateMountPaths({ workspace, home }) },
    mounts: { ...mounts, mapped: { ...mounts.mapped, workspace: mapped(workspace), home: mapped(home) } },
  };
}

interface WritableRootUsers {
  // Paths of user namespaces: see SandboxNamespaces.
  programs: string;
  disk: string;
  // The ids of the sandbox's root user on the host.
  owner: InsideUser;
}

// The daemon gives the image's variables to programs (daemon/programs/environment.ts). The image's folders with programs come before ours.
const envOf = (image: ImageRoot | undefined): Record<string, string> => {
  const { PATH: path, ...env } = image?.config.env ?? {};
  return {
    ...DAEMON_ENV,
    ...(image && { BERTH_IMAGE_ENV: JSON.stringify(env) }),
    ...(path !== undefined && path !== "" && { PATH: `${path}:${PLAIN_PATH}` }),
  };
};
