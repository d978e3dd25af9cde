import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import { run } from "../../host/run.ts";
import { readMountPoints } from "../../host/mounts.ts";
import { withPrivateMounts, PRIVATE_MOUNTS_DIR, privateMountPaths } from "./private-mounts.ts";

describeWith(machine.root, "private mounts", () => {
  let folders: { first: string; second: string };
  beforeAll(() => {
    const make = (name: string) => {
      const folder = mkdtempSync(join(tmpdir(), "berth mounts '$x' "));
      writeFileSync(join(folder, "note"), name);
      return folder;
    };
    folders = { first: make("one "), second: make("two") };
  });
  afterAll(() => {
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true });
  });

  test("show folders that only root can reach, and leave no mount on the host", async () => {
    const { first, second } = privateMountPaths(folders);
    const outcome = await run(...withPrivateMounts({ folders }, "cat", [join(first, "note"), join(second, "note")]));
    expect(outcome).toEqual({ code: 0, output: "one two" });
    expect(readMountPoints().filter((point) => point.startsWith(PRIVATE_MOUNTS_DIR))).toEqual([]);
  });

  test("do not run the command if a folder is missing", async () => {
    const { code, output } = await run(...withPrivateMounts({ folders: { first: join(folders.first, "missing") } }, "echo", ["ran"]));
    expect(code).not.toBe(0);
    expect(output).not.toContain("ran");
  });

  test("leave the command unchanged if there are no folders", () => {
    expect(withPrivateMounts(undefined, "runc", ["--version"])).toEqual(["runc", ["--version"]]);
  });
});
