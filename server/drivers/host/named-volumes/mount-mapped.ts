import type { VolumeMode } from "@berth/contract";
import { mustRun } from "../run.ts";

// open_tree, mount_setattr and move_mount, which have the same numbers on all processors. `mount` can do this from util-linux 2.39 on,
// and runc from 1.2 on, which Debian 12 does not have. Perl is part of every Debian and Ubuntu.
// Takes groups of four arguments: source, target, the path of a user namespace, and flags.
export const ID_MAPPED_MOUNT = `
while (my ($source, $target, $namespace, $flags) = splice(@ARGV, 0, 4)) {
  my $empty = "";
  my $tree = syscall(428, -100, $source, 1 | 02000000);
  die "open_tree: $!\\n" if $tree < 0;
  open(my $ids, "<", $namespace) or die "$namespace: $!\\n";
  my $attributes = pack("Q4", 0x100000 | $flags, 0, 0, fileno($ids));
  die "the file system of $source cannot show files with other user ids (mount_setattr: $!)\\n"
    if syscall(442, $tree, $empty, 0x1000, $attributes, length $attributes) != 0;
  die "move_mount: $!\\n" if syscall(429, $tree, $empty, -100, $target, 4) != 0;
}`;

// MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, and MOUNT_ATTR_RDONLY.
const RESTRICTED = 2 | 4;
const READ_ONLY = 1;

export interface MappedMount {
  mode: VolumeMode;
  // The path of a user namespace. Its ids are those that files have on disk. Absent: ids are not changed.
  userNamespace?: string | undefined;
}

// The commands that mount each `source` at its `target` as well, with other user ids and without what is mounted below it. Each sandbox
// has its own ids, and this way all of them own the files of a volume or of an image.
export function mapMounts(mounts: readonly (MappedMount & { source: string; target: string })[]): string[][] {
  const flagsOf = (mode: VolumeMode) => String(RESTRICTED | (mode === "ro" ? READ_ONLY : 0));
  const mapped = mounts.flatMap(({ source, target, mode, userNamespace }) =>
    userNamespace === undefined ? [] : [source, target, userNamespace, flagsOf(mode)],
  );
  return [
    ...(mapped.length > 0 ? [["perl", "-e", ID_MAPPED_MOUNT, ...mapped]] : []),
    ...mounts
      .filter(({ userNamespace }) => userNamespace === undefined)
      .flatMap(({ source, target, mode }) => [
        ["mount", "--bind", source, target],
        ["mount", "-o", `remount,bind,nosuid,nodev,${mode}`, target],
      ]),
  ];
}

export async function mountMapped(source: string, target: string, mount: MappedMount): Promise<void> {
  for (const [command = "", ...args] of mapMounts([{ ...mount, source, target }])) await mustRun(command, args);
}
