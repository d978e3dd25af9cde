import { createHash } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { privateMountPath, type PrivateMounts } from "../runtime/private-mounts.ts";
import { kindOf } from "../runtime/runtime-kinds.ts";
import { asUser } from "../users/as-user.ts";
import { makeMountPoints } from "./root.ts";

// The root of a sandbox whose programs may change it: an overlay of the template's root, which stays as it is, and of a folder on the
// sandbox's disk, which gets the changes. It is mounted for the runtime alone (private-mounts.ts) and ends with the sandbox. The sandbox
// sees the merged root, never the folder.

export interface WritableRoot {
  // The root that stays as it is.
  lower: string;
  // Distinguishes it from other roots of the same sandbox.
  name: string;
  // The folder on the sandbox's disk for the changes of all roots that it has had.
  changes: string;
  // The path of the sandbox's user namespace, which has all ids of the template's root.
  userNamespace: string;
  // The ids of the sandbox's root user on the host.
  owner: { uid: number; gid: number };
}

const MERGED = "root";
const LOWER = "lower";
const CHANGES = "changes";

// The first version that can overlay layers with mapped ids.
const MIN_KERNEL = [5, 19] as const;

// Whether sandboxes can have writable roots here. Only root can mount with mapped ids, gVisor hides a sandbox's mounts from the host, and
// without a disk limit nothing would limit the changes.
export const offersWritableRoots = ({ runtime, boundDisks, asRoot }: { runtime: string; boundDisks: boolean; asRoot: boolean }): boolean =>
  asRoot && boundDisks && !kindOf(runtime).opaque && hasMappedOverlays(release());

export function hasMappedOverlays(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map(Number);
  return major > MIN_KERNEL[0] || (major === MIN_KERNEL[0] && minor >= MIN_KERNEL[1]);
}

// fsopen, fsconfig, fsmount and move_mount with MOUNT_ATTR_NOSUID and MOUNT_ATTR_NODEV.
const SCRIPT = `
my ($target, @options) = @ARGV;
my ($type, $empty) = ("overlay", "");
sub must { my ($call, $result) = @_; die "the writable root could not be mounted ($call: $!)\\n" if $result < 0; $result }
my $context = must("fsopen", syscall(430, $type, 1));
while (my ($name, $value) = splice(@options, 0, 2)) { must($name, syscall(431, $context, 1, $name, $value, 0)); }
must("overlay", syscall(431, $context, 6, 0, 0, 0));
my $mount = must("fsmount", syscall(432, $context, 1, 2 | 4));
must("move_mount", syscall(429, $mount, $empty, -100, $target, 4));
`;

// The kernel changes the disk with the rights of the process that has mounted the overlay. It has to be a user of the sandbox, because
// others have no id on the disk. It needs these capabilities of the host, and the sandbox gets none of them.
const CAPABILITIES = ["sys_admin", "dac_override", "dac_read_search", "fowner", "chown", "fsetid", "setfcap"];

// Each root has changes of its own, and finds them again when the sandbox returns to it.
const keyOf = (name: string) => createHash("sha256").update(name).digest("hex").slice(0, 32);

// Prepares the disk, and returns where the runtime finds the root, and what has to be mounted for it.
export function prepareWritableRoot({ lower, name, changes, userNamespace, owner }: WritableRoot): { path: string; mounts: PrivateMounts } {
  makeMountPoints(lower);
  const mappedLower = { source: lower, mode: "ro", userNamespace } as const;
  const folder = join(changes, keyOf(name));
  // The sandbox has to start even if its disk is full. Then its root is read-only.
  if (!makeLayers(folder)) return { path: privateMountPath(MERGED), mounts: { mapped: { [MERGED]: mappedLower } } };
  const at = (name: string) => join(privateMountPath(CHANGES), name);
  const layers = { lowerdir: privateMountPath(LOWER), upperdir: at("upper"), workdir: at("work") };
  // Renaming a folder of an image works only with redirect_dir. The other features would be of no use here.
  const options = { ...layers, redirect_dir: "on", index: "off", metacopy: "off", nfs_export: "off" };
  return {
    path: privateMountPath(MERGED),
    mounts: {
      mapped: { [LOWER]: mappedLower, [CHANGES]: { source: folder, mode: "rw", userNamespace } },
      mounting: [
        ["mkdir", privateMountPath(MERGED)],
        asUser(owner, CAPABILITIES, ["perl", "-e", SCRIPT, privateMountPath(MERGED), ...Object.entries(options).flat()]),
      ],
    },
  };
}

// The upper folder has the owner and the mode of the merged root.
function makeLayers(folder: string): boolean {
  try {
    mkdirSync(join(folder, "work"), { recursive: true, mode: 0o700 });
    if (mkdirSync(join(folder, "upper"), { recursive: true }) !== undefined) chmodSync(join(folder, "upper"), 0o755);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
