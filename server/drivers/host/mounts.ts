import { readFileSync } from "node:fs";
import { mustRun, run } from "./run.ts";

export interface Mount {
  point: string;
  options: readonly string[];
}

// The lines of /proc/{pid}/mountinfo. The kernel writes spaces and the like as octal numbers.
export function parseMounts(mountinfo: string): Mount[] {
  return [...mountinfo.matchAll(/^\d+ \d+ \d+:\d+ \S+ (\S+) (\S+)/gm)].map(([, point = "", options = ""]) => ({
    point: point.replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    options: options.split(","),
  }));
}

// Where something is mounted, as this process sees it.
export const readMountPoints = (): string[] => parseMounts(readFileSync("/proc/self/mountinfo", "utf8")).map(({ point }) => point);

export const isMounted = (mountPoint: string) => readMountPoints().includes(mountPoint);

// Somebody of the host who works in there, such as an operator who looks around, must not keep it: it leaves our sight at
// once and is let go of when they leave.
export async function unmount(mountPoint: string): Promise<void> {
  const { code } = await run("umount", [mountPoint]);
  if (code !== 0) await mustRun("umount", ["--lazy", mountPoint]);
}
