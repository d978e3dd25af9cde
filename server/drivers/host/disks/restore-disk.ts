import { existsSync } from "node:fs";
import { chown, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copyEntries } from "./folder-snapshots.ts";
import type { FileRunner } from "../file-runner.ts";
import { mustRun } from "../run.ts";

const COPY_TIMEOUT_MS = 10 * 60_000;

// The files of a snapshot belong to the user of another sandbox. This file exists until they belong to the right one.
const markOf = (folder: string) => join(folder, "restoring");

// Copies the files of a snapshot to the place of a disk's image or folder, under their name when they are complete.
export async function restoreDisk(files: FileRunner, folder: string, source: string, signal: AbortSignal): Promise<void> {
  await writeFile(markOf(folder), "");
  const image = join(folder, "volume.img");
  if (existsSync(join(source, "volume.img"))) {
    const options = ["--reflink=auto", "--sparse=auto"];
    await mustRun("cp", [...options, "--", join(source, "volume.img"), `${image}.new`], { signal, timeoutMs: COPY_TIMEOUT_MS });
    await rename(`${image}.new`, image);
  } else await copyEntries(files, { from: source, names: ["workspace", "home"], to: join(folder, "volume") }, signal);
}

export const isRestoring = (folder: string): boolean => existsSync(markOf(folder));

interface RestoredFiles {
  paths: readonly string[];
  // See SandboxDisk.
  rootChanges: string;
  owner: number;
  keepsOwners: boolean;
}

// Gives the restored files to their user. Symbolic links are not followed. With `keepsOwners`, only those of the user of the sandbox
// from which the snapshot was taken.
export async function giveFiles(
  files: FileRunner,
  folder: string,
  { paths, rootChanges, owner, keepsOwners }: RestoredFiles,
  signal: AbortSignal,
): Promise<void> {
  const id = files.idOf(owner);
  const give = async (change: readonly string[], to: readonly string[]) =>
    void (await files.run("chown", ["-R", "-h", "-P", ...change, "--", ...to], { signal, timeoutMs: COPY_TIMEOUT_MS }));
  const hasChanges = existsSync(rootChanges);
  if (keepsOwners)
    for (const path of paths) {
      // Programs may have given the workspace to another user, but only if they had a writable root. chown changes the folder itself last,
      // so the next server finds the same user if this one dies.
      const { uid } = await stat(hasChanges ? rootChanges : path);
      await give([`--from=:${uid}`, `:${id}`], [path]);
      await give([`--from=${uid}`, `${id}`], [path]);
    }
  else await give([`${id}:${id}`], paths);
  if (hasChanges) await chown(rootChanges, owner, owner);
  await rm(markOf(folder));
}
