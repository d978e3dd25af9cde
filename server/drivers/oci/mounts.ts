import { readFileSync } from "node:fs";

// Where something is mounted, as this process sees it. The kernel writes spaces and the like as octal numbers.
export function readMountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8))));
}

// A folder with mounts below it can be shown to a sandbox only together with them.
export const hasMountsBelow = (folder: string, mountPoints = readMountPoints()) =>
  mountPoints.some((point) => point.startsWith(`${folder}/`));
