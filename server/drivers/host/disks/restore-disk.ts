import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
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

// Gives the restored files to their user. Symbolic links are not followed.
export async function giveFiles(
  files: FileRunner,
  folder: string,
  { paths, owner }: { paths: readonly string[]; owner: number },
  signal: AbortSignal,
): Promise<void> {
  const id = files.idOf(owner);
  await files.run("chown", ["-R", "-h", "-P", `${id}:${id}`, "--", ...paths], { signal, timeoutMs: COPY_TIMEOUT_MS });
  await rm(markOf(folder));
}
