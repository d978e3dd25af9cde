import { parseMounts } from "../../host/mounts.ts";

// Below these everything is the sandbox's own. (`/proc` and `/dev` belong to its namespaces and are masked by the runtime.)
const OWN = ["/proc", "/dev", "/tmp", "/run/berth", "/workspace", "/home/user"];
const REQUIRED = ["ro", "nosuid", "nodev"];

// Finds the mounts in a sandbox's `mountinfo` that other sandboxes see too and that lack a required option. A runtime that
// does not know recursive mount options ignores them; then mounts of the operator below a folder that sandboxes see would
// be writable to all of them.
export function findUnrestrictedMounts(mountinfo: string): string[] {
  return parseMounts(mountinfo)
    .filter(({ point }) => !OWN.some((own) => point === own || point.startsWith(`${own}/`)))
    .filter(({ point, options }) => !(point === "/" ? ["ro"] : REQUIRED).every((option) => options.includes(option)))
    .map(({ point }) => point);
}

export const unrestrictedMountsError = (points: readonly string[]) =>
  `it does not close ${points.join(", ")} and the mounts below to writing; that takes Linux 5.12 and runc 1.1, crun 1.4 or newer`;
