import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { readCgroupLayout, type CgroupMount } from "./cgroup-layouts.ts";

// Folders that look like a hierarchy, because test machines have the controller in only one version.
interface Version {
  version: 1 | 2;
  weightFile: string;
  // The quota of a sandbox with two CPUs, and the weight that belongs to it.
  files: Record<string, string>;
  weight: string;
}

const VERSIONS: Version[] = [
  { version: 1, weightFile: "cpu.shares", files: { "cpu.cfs_quota_us": "200000", "cpu.cfs_period_us": "100000" }, weight: "256" },
  { version: 2, weightFile: "cpu.weight", files: { "cpu.max": "200000 100000" }, weight: "10" },
];

describe.each(VERSIONS)("the background class, version $version", ({ version, weightFile, files, weight }) => {
  function makeGroup(content: Record<string, string>) {
    const path = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
    mkdirSync(join(path, "one"));
    for (const [file, text] of Object.entries(content)) writeFileSync(join(path, "one", file), text);
    const { background } = readCgroupLayout([{ path, version, controllers: ["freezer", "cpu"] }]);
    const read = (file: string) => readFileSync(join(path, "one", file), "utf8");
    return { background, read, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
  }

  test("a group that leaves it has its weight again", () => {
    using group = makeGroup({ "cpu.idle": "0\n", [weightFile]: "77\n" });
    expect(group.background.has("one")).toBe(false);
    expect(group.background.enter("one")).toBe("77");
    expect(group.background.has("one")).toBe(true);
    group.background.leave("one", "77");
    expect(group.background.has("one")).toBe(false);
    expect(group.read(weightFile)).toBe("77");
  });

  test("a group whose weight is not known gets the one that belongs to its quota", () => {
    using group = makeGroup({ "cpu.idle": "1\n", [weightFile]: "0\n", ...files });
    group.background.leave("one");
    expect(group.read(weightFile)).toBe(weight);
  });

  test("entering and leaving are no-ops if the kernel has no such class or the group has ended", () => {
    using group = makeGroup({ [weightFile]: "77\n" });
    for (const name of ["one", "none"]) {
      expect(group.background.enter(name)).toBeUndefined();
      expect(group.background.has(name)).toBe(false);
      group.background.leave(name, "5");
    }
    expect(group.read(weightFile)).toBe("77\n");
  });
});

const mount: CgroupMount = { path: "/sys/fs/cgroup/cpu", version: 1, controllers: ["freezer", "cpu"] };

testWith([machine.root, machine.cgroup(mount.path)], "the kernel accepts the order of the writes", () => {
  const name = `berth-test-background-${process.pid}`;
  const folder = join(mount.path, name);
  const sharesOf = () => readFileSync(join(folder, "cpu.shares"), "utf8").trim();
  mkdirSync(folder);
  try {
    writeFileSync(join(folder, "cpu.shares"), "256");
    const { background } = readCgroupLayout([mount]);
    const weight = background.enter(name);
    // Linux before 5.15.
    if (weight === undefined) return;
    expect([weight, background.has(name)]).toEqual(["256", true]);
    expect(sharesOf()).not.toBe("256");
    background.leave(name, weight);
    expect([sharesOf(), background.has(name)]).toEqual(["256", false]);
  } finally {
    rmdirSync(folder);
  }
});
