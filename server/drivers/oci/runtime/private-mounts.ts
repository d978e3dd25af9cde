import { dirname, join } from "node:path";
import { makeFolder } from "../../../bounded-io/make-folder.ts";
import { mapMounts, type MappedMount } from "../../host/named-volumes/mount-mapped.ts";

// Only command lines of `withPrivateMounts` contain this path.
export const PRIVATE_MOUNTS_DIR = "/run/berth/stage";

export interface PrivateMounts {
  // Folders of the host by their name.
  folders?: Record<string, string>;
  // Like `folders`, with mapped user ids.
  mapped?: Record<string, MappedMount & { source: string }>;
  // Commands that mount more, each as an array. They see the folders.
  mounting?: readonly (readonly string[])[];
  // Receives the errors of all commands except the last one.
  errorFile?: string;
}

// The path of a folder for a command that runs through `withPrivateMounts`.
export const privateMountPath = (name: string): string => join(PRIVATE_MOUNTS_DIR, name);

export const privateMountPaths = <Name extends string>(folders: Record<Name, string>) =>
  Object.fromEntries(Object.keys(folders).map((name) => [name, privateMountPath(name)])) as Record<Name, string>;

// Wraps a command line so that the command sees each of the folders at its `privateMountPath`. Without mounts, the command line
// is unchanged. The runtime opens the root of a sandbox as the sandbox's root user, who has no rights on the host and cannot reach
// the server's folders; gVisor opens everything like that. The mounts are in a mount namespace of the command. They vanish with it and with
// its copies, so nothing has to unmount them.
export function withPrivateMounts(mounts: PrivateMounts | undefined, command: string, args: readonly string[]): [string, string[]] {
  if (!mounts) return [command, [...args]];
  for (const path of [dirname(PRIVATE_MOUNTS_DIR), PRIVATE_MOUNTS_DIR]) makeFolder(path, 0o755);
  const { folders = {}, mapped = {}, mounting = [], errorFile } = mounts;
  const names = [...Object.keys(folders), ...Object.keys(mapped)];
  const steps = [
    ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", PRIVATE_MOUNTS_DIR],
    ["mkdir", "--", ...names.map(privateMountPath)],
    ...Object.entries(folders).map(([name, source]) => ["mount", "--bind", source, privateMountPath(name)]),
    ...mapMounts(Object.entries(mapped).map(([name, mount]) => ({ ...mount, target: privateMountPath(name) }))),
    ...mounting,
  ];
  return ["unshare", ["--mount", "--propagation", "private", ...inOrder(steps, [command, ...args], errorFile)]];
}

// A shell that runs the steps until one fails, and then becomes the command. All words are its arguments, so none needs quotes.
function inOrder(steps: readonly (readonly string[])[], command: readonly string[], errorFile = ""): string[] {
  let count = 1;
  const redirect = errorFile === "" ? "" : ' 2>>"$1"';
  const words = (list: readonly string[]) => list.map(() => `"\${${++count}}"`).join(" ");
  const script = ["set -e", ...steps.map((step) => `${words(step)}${redirect}`), `exec ${words(command)}`].join("\n");
  return ["sh", "-c", script, "sh", errorFile, ...steps.flat(), ...command];
}
