import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { chmod, chown, mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import { findRelatedProcesses } from "../../../../server/drivers/host/process-table.ts";

// A pod of the double is a process with its own address and its own folders.

// One of four million, so that doubles in other processes rarely choose the same address.
export const nextAddress = () => `127.${randomInt(64, 128)}.${randomInt(256)}.${randomInt(1, 255)}`;

// The processes that the daemon started end with its container.
export function killAll({ child, folder }: { child?: ChildProcess; folder?: string }): void {
  if (child?.pid === undefined) return;
  for (const { pid } of findRelatedProcesses(child.pid, folder === undefined ? [] : [folder])) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}

export function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}

export interface PodProcess {
  env: Record<string, string>;
  mounts: PodMount[];
}

// An init container that has failed.
export class InitFailure extends Error {
  readonly container: string;
  readonly exitCode: number;

  constructor(container: string, exitCode: number, message: string) {
    super(message);
    this.container = container;
    this.exitCode = exitCode;
  }
}

interface PodMount {
  source: string;
  target: string;
  readOnly: boolean;
}

export interface Pod {
  spec: V1PodSpec;
  uid: string;
  // The parent of all volumes.
  folder: string;
  // The contents of /opt/berth in the image of templates.
  image: string;
  // The variables of the container's image.
  imageEnv: Record<string, string>;
}

// The environment of the pod's process: its volumes are folders below `folder`. A volume that is mounted in another one is a real
// mount, because a program finds it by its path. `runtime` is its /opt/berth.
export async function prepareVolumes(pod: Pod): Promise<PodProcess & { runtime: string }> {
  const { spec, uid, image } = pod;
  const mapped = await mapMounts(pod, spec.containers[0]!);
  for (const init of spec.initContainers ?? []) await runInit(pod, init);
  const nested = mapped.mounts.filter(({ parent }) => parent !== undefined);
  const runtime = mapped.mounts.find(({ path }) => path === "/opt/berth")?.source ?? image;
  return { env: mapped.env(uid), mounts: nested, runtime };
}

// Runs as the pod's user, if this process may choose it, in folders that belong to root.
async function runInit(pod: Pod, init: V1Container): Promise<void> {
  const { env, mounts } = await mapMounts(pod, init);
  const [program, ...args] = init.command!.map((word) => {
    const mount = mounts.find(({ path }) => word === path);
    return mount?.source ?? word.replace(/^\/opt\/berth(?=\/)/, pod.image);
  });
  const { runAsUser, runAsGroup } = pod.spec.securityContext!;
  const user = process.getuid?.() === 0 && mounts.some(({ isOfRoot }) => isOfRoot) ? { uid: runAsUser!, gid: runAsGroup! } : {};
  await promisify(execFile)(program!, args, { env: env(pod.uid), ...user }).catch((error: { code: number; stderr: string }) => {
    throw new InitFailure(init.name, error.code, error.stderr);
  });
}

async function mapMounts({ spec, uid: podId, folder, imageEnv }: Pod, container: V1Container) {
  const mounts: (PodMount & { path: string; parent: string | undefined; isOfRoot: boolean })[] = [];
  for (const { name, mountPath, subPath = "", readOnly = false } of container.volumeMounts ?? []) {
    const volume = spec.volumes?.find((one) => one.name === name);
    const claim = volume?.persistentVolumeClaim?.claimName;
    const isOfRoot = volume?.emptyDir !== undefined && volume.emptyDir.medium === undefined;
    if (!claim && !isOfRoot) continue;
    const source = isOfRoot ? await makeEmptyDir(spec, join(folder, podId, name)) : join(folder, claim!, subPath);
    await mkdir(source, { recursive: true });
    const parent = mounts.find(({ path }) => mountPath.startsWith(`${path}/`));
    const target = parent ? join(parent.source, mountPath.slice(parent.path.length)) : source;
    mounts.push({ source, target, readOnly, path: mountPath, parent: parent?.path, isOfRoot });
  }
  const env = (uid: string): Record<string, string> => {
    const given = (container.env ?? []).map(({ name, value = "", valueFrom }) => [
      name,
      valueFrom?.fieldRef?.fieldPath === "metadata.uid" ? uid : (mounts.find(({ path }) => path === value)?.source ?? value),
    ]);
    // The programs of the pod are those of this machine.
    const programs = [imageEnv["PATH"], process.env["PATH"]].filter(Boolean).join(":");
    return { ...imageEnv, ...(Object.fromEntries(given) as Record<string, string>), PATH: programs };
  };
  return { env, mounts };
}

// Like the kubelet, makes a folder that belongs to root, in which the pod's group may write.
async function makeEmptyDir({ securityContext }: V1PodSpec, path: string): Promise<string> {
  if ((await mkdir(path, { recursive: true })) === undefined || process.getuid?.() !== 0) return path;
  await chown(path, 0, securityContext!.fsGroup!);
  await chmod(path, 0o2777);
  return path;
}

// Mounts are in a mount namespace of the pod, which the kernel removes with its last process. Needs root.
const MOUNT =
  'while [ "$1" != -- ]; do mount --bind "$1" "$2" && mount -o "remount,bind,$3" "$2" && shift 3 || exit; done; shift; exec "$@"';

export function startProcess(command: string[], { env, mounts }: PodProcess): ChildProcess {
  const inside = mounts.flatMap(({ source, target, readOnly }) => [source, target, readOnly ? "ro" : "rw"]);
  const [program, ...args] = mounts.length === 0 ? command : ["unshare", "--mount", "sh", "-c", MOUNT, "sh", ...inside, "--", ...command];
  return spawn(program!, args, { cwd: env["BERTH_WORKSPACE"], env, detached: true, stdio: ["ignore", "ignore", "inherit"] });
}
