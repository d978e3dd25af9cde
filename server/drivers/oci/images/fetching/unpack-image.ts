import type { FileRunner } from "../../../host/file-runner.ts";
import { ID_MAPPED_MOUNT } from "../../../host/named-volumes/mount-mapped.ts";
import { run } from "../../../host/run.ts";
import { FOLDERS_OF_MOUNT_POINTS } from "../../filesystem/root.ts";
import { RANGE_SIZE } from "../../users/id-mappings.ts";
import { holdMappedNamespace } from "../../users/user-namespace.ts";
import { COUNT_SCRIPT, parseSize, type FolderSize } from "./fetch-watch.ts";
import { LAYOUT_TAG } from "./copy-image.ts";

export interface UnpackOptions {
  // A folder that contains `work/layout`, and in which `root` is made.
  draft: string;
  files: FileRunner;
  // The maximum size of one file of the image.
  fileBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}

// Ids of the host that belong to no user and to no sandbox: the last of those that systemd gives to containers. One image is unpacked
// at a time, so all of them may use the same.
const FIRST_ID = 0x6ffe0000;
const MAPPED = [{ containerID: 0, hostID: FIRST_ID, size: RANGE_SIZE }];
const MOUNT_POINT = "/mnt";

// Unpacks layers, which may be hostile, in a user namespace without any rights on the host, and without a network. Files have the ids of
// the image, also on disk: an id-mapped mount turns the namespace's ids into those. Where the kernel has no such mounts for this file
// system, files keep the namespace's ids. In sandboxes they then belong to the user nobody.
const ISOLATED = `set -e
mount -t tmpfs -o mode=755,size=64k tmpfs ${MOUNT_POINT}
mkdir ${MOUNT_POINT}/draft
if ! perl -e "$3" "$2" ${MOUNT_POINT}/draft "/proc/$1/ns/user" 6 2>/dev/null; then
  chown -R ${FIRST_ID}:${FIRST_ID} "$2"
  mount --bind "$2" ${MOUNT_POINT}/draft
fi
namespace=$1; limit=$4; unpack=$5
exec nsenter "--user=/proc/$namespace/ns/user" --setuid 0 --setgid 0 -- setpriv --pdeathsig KILL prlimit "--fsize=$limit" sh -c "$unpack" sh ${MOUNT_POINT}/draft`;

// Set-uid programs have no effect in a sandbox, and users of the host must not run them. Devices and pipes are of no use in an image.
// The sandbox's user and the server have to enter the folders on the way to mount points, whichever user of the image owns them.
const unpackScript = (flags = "") => `set -e
cd "$1"
umoci raw unpack ${flags} --image "work/layout:${LAYOUT_TAG}" root
find root -xdev ! -type f ! -type d ! -type l -delete
find root -xdev -type f -perm /7000 -exec chmod a-st {} +
chmod u+rwx,go-w root
for folder in root ${FOLDERS_OF_MOUNT_POINTS.map((name) => `root/${name}`).join(" ")}; do
  if [ -d "$folder" ] && [ ! -L "$folder" ]; then chmod a+rx "$folder"; fi
done
set -- "$1/root"
${COUNT_SCRIPT}`;

// Unpacks all layers into `root`, and counts what is there.
export async function unpackImage({ draft, files, fileBytes, timeoutMs, signal }: UnpackOptions): Promise<FolderSize> {
  if (process.getuid?.() === 0) {
    await using holder = await holdMappedNamespace(FIRST_ID, { uids: MAPPED, gids: MAPPED }, signal);
    const args = ["sh", "-c", ISOLATED, "sh", `${holder.pid}`, draft, ID_MAPPED_MOUNT, `${fileBytes}`, unpackScript()];
    const { code, output } = await run("setpriv", [...ENDS_WITH_SERVER, "--mount", "--net", "--propagation", "private", ...args], {
      signal,
      timeoutMs,
    });
    return parseOutcome(code, output);
  }
  const script = ["prlimit", `--fsize=${fileBytes}`, "sh", "-c", unpackScript(files.direct ? "--rootless" : ""), "sh", draft];
  // If the server has no sub-ids, the files of an image belong to its user.
  return parseOutcome(
    0,
    await files.run("setpriv", [...ENDS_WITH_SERVER, ...(files.direct ? ["--map-root-user"] : []), ...script], { signal, timeoutMs }),
  );
}

// All processes are in a process namespace, which ends with its first process.
const ENDS_WITH_SERVER = ["--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"];

function parseOutcome(code: number | null, output: string): FolderSize {
  const size = parseSize(output);
  if (code !== 0 || !size) throw new Error(`umoci ended with ${code ?? "a signal"}: ${output.slice(-1000)}`);
  return size;
}
