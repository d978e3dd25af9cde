import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { V1PodSpec } from "@kubernetes/client-node";
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

// The environment of the pod's process: its volumes are folders below `folder`.
export async function prepareVolumes(spec: V1PodSpec, uid: string, folder: string): Promise<Record<string, string>> {
  const container = spec.containers[0]!;
  const env = Object.fromEntries(
    (container.env ?? []).map(({ name, value = "", valueFrom }) => [name, valueFrom?.fieldRef?.fieldPath === "metadata.uid" ? uid : value]),
  );
  for (const { name, mountPath, subPath = "" } of container.volumeMounts ?? []) {
    const claim = spec.volumes?.find((volume) => volume.name === name)?.persistentVolumeClaim?.claimName;
    if (!claim) continue;
    const real = join(folder, claim, subPath);
    await mkdir(real, { recursive: true });
    for (const key of Object.keys(env)) if (env[key] === mountPath) env[key] = real;
  }
  env["PATH"] = process.env["PATH"] ?? "";
  return env;
}
