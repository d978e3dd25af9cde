import { readFileSync } from "node:fs";
import { mustRun, run } from "../run.ts";

// Where something is mounted, as this process sees it. The kernel writes spaces and the like as octal numbers.
export function readMountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8))));
}

// A folder with mounts below it can be shown to a sandbox only together with them.
export const hasMountsBelow = (folder: string, mountPoints = readMountPoints()) =>
  mountPoints.some((point) => point.startsWith(`${folder}/`));

export const isMounted = (mountPoint: string) => readMountPoints().includes(mountPoint);

// Somebody of the host who works in there, such as an operator who looks around, must not keep it: it leaves our sight at
// once and is let go of when they leave.
export async function unmount(mountPoint: string): Promise<void> {
  const { code } = await run("umount", [mountPoint]);
  if (code !== 0) await mustRun("umount", ["--lazy", mountPoint]);
}
