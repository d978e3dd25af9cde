import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, testWith } from "../../support/machine.ts";
import { missingUserDriver, USER, type UserForm } from "../../support/user-driver/user-driver.ts";
import { openSandboxes, missing, type Sandbox, type Sandboxes } from "../sandboxes.ts";

const MiB = 1024 * 1024;

// Only the differences from sandboxes of root: who owns the files, and who limits processes, memory and disk. BERTH_TEST_WITHOUT_ROOT runs all
// other tests of tests/isolation on these sandboxes.
for (const form of ["sub-ids", "one-id"] satisfies UserForm[]) {
  describeWith([...missing, missingUserDriver(form)], `sandboxes without root, ${form}`, () => {
    let sandboxes: Sandboxes;
    let sandbox: Sandbox;
    let neighbour: Sandbox;
    beforeAll(async () => {
      sandboxes = await openSandboxes({ form });
      [sandbox, neighbour] = await Promise.all([
        sandboxes.create({ pids: 64, memoryMb: 192, diskMb: 32, tmpMb: 32, egress: { policy: "none" } }),
        sandboxes.create(),
      ]);
    });
    afterAll(() => sandboxes?.[Symbol.asyncDispose]());

    test("its user has no capabilities, sees nothing of the server's user, and owns its files", async () => {
      const { dataDir } = sandboxes;
      const { output } = await sandbox.sh(`grep -h -E "^Cap(Prm|Eff|Bnd)|^NoNewPrivs|^Seccomp:" /proc/self/status
        ls -d ${dataDir} /home/nobody /nonexistent /proc/${process.pid} /run/user /run/dbus /tmp/* 2> /dev/null
        whoami; ls /run; touch /new /usr/new /opt/berth/new /run/berth-egress/new 2> /dev/null; echo mine > note; stat -c %U note`);
      const none = "0".repeat(16);
      expect(output.replaceAll("\t", " ").split("\n").slice(0, 5)).toEqual([
        `CapPrm: ${none}`,
        `CapEff: ${none}`,
        `CapBnd: ${none}`,
        "NoNewPrivs: 1",
        "Seccomp: 2",
      ]);
      expect(output.split("\n").slice(5).join(" ")).toBe("user berth berth-egress user ");
      const owner = statSync(join(dataDir, "sandboxes", sandbox.id, "volume/workspace/note")).uid;
      const ofNeighbour = statSync(join(dataDir, "sandboxes", neighbour.id, "volume/workspace")).uid;
      if (form === "one-id") expect([owner, ofNeighbour]).toEqual([USER, USER]);
      else expect(new Set([USER, owner, ofNeighbour]).size).toBe(3);
    });

    test("it starts no more processes than its template allows, and its neighbour has its own", async () => {
      const START = `import os, time
started = []
try:
  while len(started) < 200:
    started.append(os.fork())
    if started[-1] == 0: time.sleep(60)
except BlockingIOError: pass
for pid in started: os.kill(pid, 9); os.waitpid(pid, 0)
print(len(started))`;
      const started = Number((await sandbox.python(START)).output);
      expect(started).toBeGreaterThan(10);
      expect(started).toBeLessThan(64);
      expect((await neighbour.python(START)).output).toBe("200\n");
    });

    test("a program that takes more memory than the sandbox has is ended, and the sandbox continues", async () => {
      const HOLD = `import time
held = []
for _ in range(50): held.append(b"x" * ${8 * MiB}); time.sleep(0.02)
time.sleep(40)
print("has it all")`;
      const { code, output } = await sandbox.python(HOLD);
      expect([code === 0, output]).toEqual([false, ""]);
      expect((await sandbox.sh("echo well")).output).toBe("well\n");
    });

    const same = form === "one-id" ? "the same with sub-ids" : undefined;
    testWith(same, "a full disk takes no more until files are deleted", async () => {
      expect((await sandbox.sh("head -c 64M /dev/zero > one; stat -c %s one")).output).toMatch(new RegExp(`^${32 * MiB}$`, "m"));
      await sandbox.sh("head -c 4M /dev/zero > two");
      const write = async () => (await sandbox.sh("(echo more >> three) 2> /dev/null && echo written || echo refused")).output;
      await expect.poll(write, { timeout: 25_000, interval: 500 }).toContain("refused\n");
      await sandbox.sh("rm one");
      await expect.poll(write, { timeout: 25_000, interval: 500 }).toBe("written\n");
    });
  });
}
