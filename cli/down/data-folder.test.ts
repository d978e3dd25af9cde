import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machine, testWith } from "../../tests/support/machine.ts";
import { deleteDataFolder } from "./data-folder.ts";

function createFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "berth-data-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function fill(folder: string): void {
  mkdirSync(join(folder, "sandboxes"), { recursive: true });
  for (const name of ["berth.db", "master-key", "sandboxes/file"]) writeFileSync(join(folder, name), "");
}

const ALL = ["berth.db", "master-key", "sandboxes"];

test("the data folder is deleted unless it holds files of others", async () => {
  const folder = createFolder();
  for (const name of ["empty", "shared"]) fill(join(folder, name));
  writeFileSync(join(folder, "shared/notes.txt"), "");
  expect(await deleteDataFolder(join(folder, "empty"))).toEqual({ deleted: ALL, kept: [], folder: "deleted" });
  expect(await deleteDataFolder(join(folder, "shared"))).toEqual({ deleted: ALL, kept: ["notes.txt"], folder: "not empty" });
  expect(readdirSync(folder, { recursive: true })).toEqual(["shared", "shared/notes.txt"]);
});

test("a data folder that is a link is emptied, and the link and its target stay", async () => {
  const folder = createFolder();
  fill(join(folder, "target"));
  symlinkSync("target", join(folder, "data"));
  expect(await deleteDataFolder(join(folder, "data"))).toEqual({ deleted: ALL, kept: [], folder: "link" });
  expect(readdirSync(folder, { recursive: true }).map(String).toSorted()).toEqual(["data", "target"]);
});

testWith(machine.root, "a data folder that is a mount point is emptied, and the mount stays", async () => {
  const folder = createFolder();
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder]);
  try {
    fill(folder);
    expect(await deleteDataFolder(folder)).toEqual({ deleted: ALL, kept: [], folder: "mount point" });
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    execFileSync("umount", [folder]);
  }
});
