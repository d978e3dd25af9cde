import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import { findRelatedProcesses } from "../../../server/drivers/host/process-table.ts";

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

interface PodMount {
  source: string;
  target: string;
  readOnly: boolean;
}

// The environment of the pod's process: its volumes are folders below `folder`. A volume that is mounted in another one is a real
// mount, because a program finds it by its path.
export async function prepareVolumes(spec: V1PodSpec, uid: string, folder: string): Promise<PodProcess> {
  const container = spec.containers[0]!;
  const mapped = await mapMounts(spec, container, folder);
  for (const init of spec.initContainers ?? []) {
    const { env, mounts } = await mapMounts(spec, init, folder);
    // The double's image has the daemon already.
    if (mounts.length > 0) execFileSync(init.command![0]!, init.command!.slice(1), { env: env(uid) });
  }
  const nested = mapped.mounts.filter(({ parent }) => parent !== undefined);
  return { env: mapped.env(uid), mounts: nested };
}

async function mapMounts(spec: V1PodSpec, container: V1Container, folder: string) {
  const mounts: (PodMount & { path: string; parent: string | undefined })[] = [];
  for (const { name, mountPath, subPath = "", readOnly = false } of container.volumeMounts ?? []) {
    const claim = spec.volumes?.find((volume) => volume.name === name)?.persistentVolumeClaim?.claimName;
    if (!claim) continue;
    const source = join(folder, claim, subPath);
    await mkdir(source, { recursive: true });
    const parent = mounts.find(({ path }) => mountPath.startsWith(`${path}/`));
    const target = parent ? join(parent.source, mountPath.slice(parent.path.length)) : source;
    mounts.push({ source, target, readOnly, path: mountPath, parent: parent?.path });
  }
  const env = (uid: string): Record<string, string> => {
    const given = (container.env ?? []).map(({ name, value = "", valueFrom }) => [
      name,
      valueFrom?.fieldRef?.fieldPath === "metadata.uid" ? uid : (mounts.find(({ path }) => path === value)?.source ?? value),
    ]);
    return { ...(Object.fromEntries(given) as Record<string, string>), PATH: process.env["PATH"] ?? "" };
  };
  return { env, mounts };
}

// Mounts are in a mount namespace of the pod, which the kernel removes with its last process. Needs root.
const MOUNT =
  'while [ "$1" != -- ]; do mount --bind "$1" "$2" && mount -o "remount,bind,$3" "$2" && shift 3 || exit; done; shift; exec "$@"';

export function startProcess(command: string[], { env, mounts }: PodProcess): ChildProcess {
  const inside = mounts.flatMap(({ source, target, readOnly }) => [source, target, readOnly ? "ro" : "rw"]);
  const [program, ...args] = mounts.length === 0 ? command : ["unshare", "--mount", "sh", "-c", MOUNT, "sh", ...inside, "--", ...command];
  return spawn(program!, args, { cwd: env["BERTH_WORKSPACE"], env, detached: true, stdio: ["ignore", "ignore", "inherit"] });
}
