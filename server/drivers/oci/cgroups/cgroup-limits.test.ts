import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readCgroupLayout } from "./cgroup-layouts.ts";

// Folders that look like a hierarchy, because test machines have the controllers in only one version.
const MiB = 1024 * 1024;
interface Version {
  version: 1 | 2;
  files: Record<string, string>;
  changed: Record<string, string>;
  weightFile: "cpu.shares" | "cpu.weight";
}

const VERSIONS: Version[] = [
  {
    version: 1,
    files: {
      "memory.limit_in_bytes": String(512 * MiB),
      "memory.memsw.limit_in_bytes": String(512 * MiB),
      "cpu.cfs_quota_us": "100000",
      "cpu.shares": "128",
      "memory.usage_in_bytes": String(300 * MiB),
      "memory.stat": `active_file 1\ntotal_active_file ${50 * MiB}\ntotal_inactive_file ${150 * MiB}\n`,
    },
    changed: {
      "memory.limit_in_bytes": String(256 * MiB),
      "memory.memsw.limit_in_bytes": String(256 * MiB),
      "cpu.cfs_quota_us": "150000",
      "cpu.shares": "192",
    },
    weightFile: "cpu.shares",
  },
  {
    version: 2,
    files: {
      "memory.max": String(512 * MiB),
      "cpu.max": "100000 100000",
      "cpu.weight": "5",
      "memory.current": String(300 * MiB),
      "memory.stat": `active_file ${50 * MiB}\ninactive_file ${150 * MiB}\n`,
    },
    changed: { "memory.max": String(256 * MiB), "cpu.max": "150000 100000", "cpu.weight": "8" },
    weightFile: "cpu.weight",
  },
];

describe.each(VERSIONS)("the limits of a group, version $version", ({ version, files, changed, weightFile }) => {
  function makeGroup(content: Record<string, string>) {
    const path = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
    mkdirSync(join(path, "one"));
    for (const [file, text] of Object.entries(content)) writeFileSync(join(path, "one", file), text);
    const layout = readCgroupLayout([{ path, version, controllers: ["freezer", "cpu", "memory"] }]);
    const read = (file: string) => readFileSync(join(path, "one", file), "utf8");
    return { layout, read, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
  }

  test("processors and memory change, and nothing else", () => {
    using group = makeGroup(files);
    group.layout.setLimits("one", { cpus: 1.5, memoryBytes: 256 * MiB });
    expect(Object.fromEntries(Object.keys(files).map((file) => [file, group.read(file)]))).toEqual({ ...files, ...changed });
    group.layout.setLimits("none", { cpus: 1, memoryBytes: MiB });
  });

  test("the weight of a group in the background class is that of its quota when it leaves the class", () => {
    using group = makeGroup({ ...files, "cpu.cfs_period_us": "100000", "cpu.idle": "1\n", [weightFile]: "0" });
    group.layout.setLimits("one", { cpus: 1.5, memoryBytes: 256 * MiB });
    expect(group.read(weightFile)).toBe("0");
    group.layout.background.leave("one");
    expect(group.read(weightFile)).toBe(changed[weightFile]);
  });

  test("memory without the cache of files is held", () => {
    using group = makeGroup(files);
    expect(group.layout.heldMemoryBytes("one")).toBe(100 * MiB);
    expect(group.layout.heldMemoryBytes("none")).toBe(0);
  });
});
