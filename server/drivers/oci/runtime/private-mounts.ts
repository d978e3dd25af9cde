import { mkdirSync } from "node:fs";
import { join } from "node:path";

// Only the command line of `onStage` has this word in it.
export const STAGE = "/run/berth/stage";

const SCRIPT = `set -e
mount -t tmpfs -o mode=755 tmpfs ${STAGE}
while [ "$1" != -- ]; do
  mkdir "${STAGE}/$1"
  mount --bind "$2" "${STAGE}/$1"
  shift 2
done
shift
exec "$@"`;

// Where a command that was started through `onStage` sees the folders.
export const stagedAt = <Name extends string>(folders: Record<Name, string>) =>
  Object.fromEntries(Object.keys(folders).map((name) => [name, join(STAGE, name)])) as Record<Name, string>;

// The command line that runs a command so that it sees each of the folders at `stagedAt`; without folders, the command as
// it is. gVisor opens what it shows to a sandbox as the sandbox's root user, who is nobody on the host and cannot walk
// through the server's folders. The mounts are in a namespace of the command's own and vanish with it.
export function onStage(folders: Record<string, string> | undefined, command: string, args: readonly string[]): [string, string[]] {
  if (!folders) return [command, [...args]];
  mkdirSync(STAGE, { recursive: true, mode: 0o755 });
  return [
    "unshare",
    ["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", ...Object.entries(folders).flat(), "--", command, ...args],
  ];
}
