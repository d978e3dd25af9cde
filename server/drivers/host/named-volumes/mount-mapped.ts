import type { VolumeMode } from "@berth/contract";
import { mustRun } from "../run.ts";

// open_tree, mount_setattr and move_mount, which have the same numbers on all processors. `mount` can do this from util-linux 2.39 on,
// and runc from 1.2 on, which Debian 12 does not have. Perl is part of every Debian and Ubuntu.
const SCRIPT = `
my ($source, $target, $namespace, $flags) = @ARGV;
my $empty = "";
my $tree = syscall(428, -100, $source, 1 | 02000000);
die "open_tree: $!\\n" if $tree < 0;
open(my $ids, "<", $namespace) or die "$namespace: $!\\n";
my $attributes = pack("Q4", 0x100000 | $flags, 0, 0, fileno($ids));
die "mount_setattr: $!\\n" if syscall(442, $tree, $empty, 0x1000, $attributes, length $attributes) != 0;
die "move_mount: $!\\n" if syscall(429, $tree, $empty, -100, $target, 4) != 0;
`;

// MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, and MOUNT_ATTR_RDONLY.
const RESTRICTED = 2 | 4;
const READ_ONLY = 1;

export interface MappedMount {
  mode: VolumeMode;
  // The path of a user namespace. Its ids 0 and 1000 are those that files have on disk. Absent: ids are not changed.
  userNamespace?: string | undefined;
}

// Mounts `source` at `target` as well, with other user ids. Each sandbox has its own ids, and this way all of them own the files of a
// volume.
export async function mountMapped(source: string, target: string, { mode, userNamespace }: MappedMount): Promise<void> {
  if (userNamespace !== undefined) {
    const flags = RESTRICTED | (mode === "ro" ? READ_ONLY : 0);
    await mustRun("perl", ["-e", SCRIPT, source, target, userNamespace, String(flags)]);
    return;
  }
  await mustRun("mount", ["--bind", source, target]);
  await mustRun("mount", ["-o", `remount,bind,nosuid,nodev,${mode}`, target]);
}
