import { dirname, join } from "node:path";
import { makeFolder } from "../../../bounded-io/make-folder.ts";

// Only command lines of `withPrivateMounts` contain this path.
export const PRIVATE_MOUNTS_DIR = "/run/berth/stage";

const SCRIPT = `set -e
mount -t tmpfs -o mode=755 tmpfs ${PRIVATE_MOUNTS_DIR}
while [ "$1" != -- ]; do
  mkdir "${PRIVATE_MOUNTS_DIR}/$1"
  mount --bind "$2" "${PRIVATE_MOUNTS_DIR}/$1"
  shift 2
done
shift
exec "$@"`;

// The paths of the folders for a command that runs through `withPrivateMounts`.
export const privateMountPaths = <Name extends string>(folders: Record<Name, string>) =>
  Object.fromEntries(Object.keys(folders).map((name) => [name, join(PRIVATE_MOUNTS_DIR, name)])) as Record<Name, string>;

// Wraps a command line so that the command sees each of the folders at its `privateMountPaths`. Without folders, the command line
// is unchanged. gVisor opens what it shows to a sandbox as the sandbox's root user, who has no rights on the host and cannot reach
// the server's folders. The mounts are in a mount namespace of the command and vanish with it.
export function withPrivateMounts(
  folders: Record<string, string> | undefined,
  command: string,
  args: readonly string[],
): [string, string[]] {
  if (!folders) return [command, [...args]];
  for (const path of [dirname(PRIVATE_MOUNTS_DIR), PRIVATE_MOUNTS_DIR]) makeFolder(path, 0o755);
  return [
    "unshare",
    ["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", ...Object.entries(folders).flat(), "--", command, ...args],
  ];
}
