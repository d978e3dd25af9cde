import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWith, machine, testWith } from "../../../../tests/support/machine.ts";
import { readCgroupLayout, type CgroupMount } from "./cgroup-layouts.ts";
import { openCgroups } from "./cgroups.ts";

// Runs against both cgroup versions if this kernel has them. The test creates the groups by hand, as the runtime would.
const mounts: Record<string, CgroupMount> = {
  "version 1": { path: "/sys/fs/cgroup/freezer", version: 1, controllers: ["freezer"] },
  "version 2": { path: findVersion2(), version: 2, controllers: [] },
};

for (const [name, mount] of Object.entries(mounts)) {
  describeWith([machine.root, machine.cgroup(mount.path)], `control groups, ${name}`, () => {
    const prefix = `berth-test-${process.pid}`;
    const cgroups = openCgroups(prefix, readCgroupLayout([mount]));
    const signal = () => AbortSignal.timeout(30_000);

    async function makeGroup(id: string): Promise<ChildProcess> {
      const folder = join(mount.path, cgroups.groupOf(id).path);
      mkdirSync(folder);
      const child = spawn("sh", ["-c", "while :; do :; done"]);
      writeFileSync(join(folder, "cgroup.procs"), String(child.pid));
      return child;
    }

    test("a group can be frozen, thawed, killed while frozen, and removed", async () => {
      const child = await makeGroup("one");
      const ended = once(child, "exit");
      expect(cgroups.list()).toEqual(["one"]);
      expect(cgroups.pids("one")).toEqual([child.pid]);
      expect(cgroups.isFrozen("one")).toBe(false);
      await cgroups.freeze("one", signal());
      await cgroups.freeze("one", signal());
      expect(cgroups.isFrozen("one")).toBe(true);
      cgroups.thaw("one");
      expect(cgroups.isFrozen("one")).toBe(false);
      await cgroups.freeze("one", signal());
      await cgroups.kill("one");
      expect(await ended).toEqual([null, "SIGKILL"]);
      await cgroups.remove("one");
      expect(cgroups.list()).toEqual([]);
    });

    test("killing and removing a missing group is a no-op, and it is not frozen", async () => {
      await cgroups.kill("none");
      await cgroups.remove("none");
      expect(cgroups.isFrozen("none")).toBe(false);
      expect(cgroups.pids("none")).toEqual([]);
    });

    test("an aborted freeze leaves the group thawed", async () => {
      const ended = once(await makeGroup("two"), "exit");
      await cgroups.freeze("two", AbortSignal.abort()).catch(() => undefined);
      await cgroups.kill("two");
      await ended;
      await cgroups.remove("two");
      expect(cgroups.list()).toEqual([]);
    });
  });
}

testWith(machine.root, "removing a missing group from a read-only hierarchy is a no-op", async () => {
  const path = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
  // Containers have such a hierarchy. A read-only file system answers EROFS even if there is nothing to remove.
  execFileSync("mount", ["-t", "tmpfs", "-o", "ro", "berth-test", path]);
  try {
    expect(() => rmdirSync(join(path, "none"))).toThrow("EROFS");
    const cgroups = openCgroups("berth-test", readCgroupLayout([{ path, version: 2, controllers: [] }]));
    await cgroups.kill("none");
    await cgroups.remove("none");
  } finally {
    execFileSync("umount", [path]);
    rmdirSync(path);
  }
});

// In a folder that looks like a hierarchy with the controller, because test machines may have only one version of it.
test.each([
  { version: 1 as const, file: "blkio.throttle.write_bps_device", limited: "7:3 1000", afterwards: "7:3 0" },
  { version: 2 as const, file: "berth-test-one/io.max", limited: "7:3 wbps=1000", afterwards: "7:3 wbps=1000" },
])(
  "the limit of writes to a device, version $version, can be set and does not outlive the sandbox",
  ({ version, file, limited, afterwards }) => {
    const path = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
    try {
      const cgroups = openCgroups("berth-test", readCgroupLayout([{ path, version, controllers: ["freezer", "blkio"] }]));
      mkdirSync(join(path, "berth-test-one"));
      // A kernel without the controller.
      cgroups.limitWrites("one", "7:3", 1000);
      expect(existsSync(join(path, file))).toBe(false);
      writeFileSync(join(path, file), "");
      cgroups.limitWrites("one", "7:3", 1000);
      expect(readFileSync(join(path, file), "utf8")).toBe(limited);
      cgroups.unlimitWrites("7:3");
      expect(readFileSync(join(path, file), "utf8")).toBe(afterwards);
    } finally {
      rmSync(path, { recursive: true });
    }
  },
);

const accounting: Record<string, CgroupMount> = {
  "version 1": { path: "/sys/fs/cgroup/cpuacct", version: 1, controllers: ["freezer", "cpuacct"] },
  "version 2": mounts["version 2"]!,
};

for (const [name, mount] of Object.entries(accounting)) {
  const needs = [machine.root, machine.cgroup(mount.path)];
  testWith(needs, `the processor time of a group is read while it exists, and again when it was made again, ${name}`, async () => {
    await using cgroups = openCgroups(`berth-test-${process.pid}`, readCgroupLayout([mount]));
    const { path: group } = cgroups.groupOf("busy");
    const folder = join(mount.path, group);
    const openFiles = () => readdirSync("/proc/self/fd").filter((fd) => linkOf(`/proc/self/fd/${fd}`)?.startsWith(folder));
    expect(cgroups.cpuMs("busy")).toBe(0);
    for (const round of [1, 2]) {
      mkdirSync(folder);
      expect(cgroups.cpuMs("busy"), `round ${round}`).toBeLessThan(50);
      const child = spawn("sh", ["-c", "while :; do :; done"]);
      const ended = once(child, "exit");
      writeFileSync(join(folder, "cgroup.procs"), String(child.pid));
      await expect.poll(() => cgroups.cpuMs("busy")).toBeGreaterThan(100);
      expect(openFiles()).toHaveLength(1);
      await cgroups.kill("busy");
      await ended;
      expect(cgroups.cpuMs("busy")).toBeGreaterThan(100);
      await cgroups.remove("busy");
    }
    expect(cgroups.cpuMs("busy")).toBe(0);
    expect(openFiles()).toEqual([]);
  });
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function findVersion2(): string {
  const line = existsSync("/proc/self/mountinfo")
    ? readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .find((one) => one.includes(" - cgroup2 "))
    : undefined;
  return line?.split(" ")[4] ?? "/sys/fs/cgroup";
}
