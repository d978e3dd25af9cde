import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { plainRunner, type FileRunner } from "../file-runner.ts";
import { giveFiles, isRestoring } from "./restore-disk.ts";

const BEFORE = 4001;
const OWNER = 4002;
const OTHER = 4003;

testWith(
  [machine.root],
  "files that a dead server was giving to their user are given by the next one, and those of others stay",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "berth-restore-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "restoring"), "");
    const at = (path: string) => join(folder, path);
    const paths = [at("workspace"), at("home")] as const;
    for (const path of paths) {
      mkdirSync(path);
      for (const name of ["own", "other"]) writeFileSync(join(path, name), "");
      for (const name of [".", "own"]) chownSync(join(path, name), BEFORE, BEFORE);
      chownSync(join(path, "other"), OTHER, OTHER);
    }
    const restored = { paths, rootChanges: at("roots"), owner: OWNER, keepsOwners: true };
    // Each attempt gets one step further.
    for (let steps = 0; isRestoring(folder); steps++) {
      let left = steps;
      const files: FileRunner = {
        ...plainRunner,
        run: (...args) => (left-- > 0 ? plainRunner.run(...args) : Promise.reject(new Error("killed"))),
      };
      await giveFiles(files, folder, restored, AbortSignal.timeout(10_000)).catch(() => {});
    }
    expect(existsSync(at("restoring"))).toBe(false);
    for (const path of paths) {
      for (const name of [".", "own"]) expect(statSync(join(path, name))).toMatchObject({ uid: OWNER, gid: OWNER });
      expect(statSync(join(path, "other"))).toMatchObject({ uid: OTHER, gid: OTHER });
    }
  },
);
