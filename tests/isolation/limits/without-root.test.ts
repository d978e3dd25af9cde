import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@berth/contract";
import { describeWith, machine, testWith } from "../../support/machine.ts";
import { writeOciLayout } from "../../support/registry/image.ts";
import { busyboxImage } from "../../support/registry/images.ts";
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

    const sameWithSubIds = form === "one-id" ? "the same with sub-ids" : undefined;
    testWith(sameWithSubIds, "changed limits apply while the sandbox runs, with more and with less memory", async () => {
      const { liveLimits } = sandboxes.driver;
      const change = (memoryMb: number) => liveLimits!.change(sandbox.id, { memoryMb, cpus: 1 }, AbortSignal.timeout(30_000));
      const hold = async (seconds: number) =>
        (await sandbox.python(`import time\nheld = b"x" * ${300 * MiB}\ntime.sleep(${seconds})\nprint("kept it")`)).output;
      expect(await liveLimits!.heldMemoryBytes(sandbox.id, AbortSignal.timeout(30_000))).toBeLessThan(150 * MiB);
      await change(512);
      // The server looks every second.
      expect(await hold(2.5)).toBe("kept it\n");
      await change(192);
      expect(await hold(40)).toBe("");
    });

    testWith(
      form === "sub-ids" ? "the same with one id" : undefined,
      "a full disk accepts no data until files are deleted, even if a folder has no permissions",
      async () => {
        const { output } = await sandbox.sh("mkdir closed; head -c 64M /dev/zero > closed/one; stat -c %s closed/one; chmod 0 closed");
        expect(output).toMatch(new RegExp(`^${32 * MiB}$`, "m"));
        await sandbox.sh("head -c 4M /dev/zero > two");
        const write = async () => (await sandbox.sh("(echo more >> three) 2> /dev/null && echo written || echo refused")).output;
        await expect.poll(write, { timeout: 25_000, interval: 500 }).toContain("refused\n");
        await sandbox.sh("chmod 700 closed; rm closed/one");
        await expect.poll(write, { timeout: 25_000, interval: 500 }).toBe("written\n");
      },
    );

    testWith(machine.imageTools(), "a sandbox runs in an image, as the user of the image if there are ids for it", async () => {
      const layout = join(sandboxes.dataDir, "layout");
      await writeOciLayout(layout, busyboxImage({ Env: ["GREETING=hello"], User: "1234" }));
      const image = `oci:${layout}:latest`;
      await sandboxes.driver.images!.fetch!(image, AbortSignal.timeout(60_000));
      const inImage = await sandboxes.create({ image });
      const { output } = await inImage.sh(
        "readlink /bin/cat | grep -o busybox; echo $GREETING; (echo x > /etc/new) 2>/dev/null || echo kept; echo y > file; cat file; id -u",
      );
      expect(output).toBe(`busybox\nhello\nkept\ny\n${form === "one-id" ? 0 : 1234}\n`);
      await sandboxes.driver.destroy(inImage.id, AbortSignal.timeout(30_000));
    });

    test("files without permissions can be copied, and are removed with the sandbox", async () => {
      const signal = () => AbortSignal.timeout(30_000);
      const snapshotId = newId("snp", Date.now());
      await neighbour.sh("mkdir -p closed/deeper; echo text > closed/deeper/note; chmod 0 closed/deeper/note closed/deeper closed");
      await sandboxes.driver.takeSnapshot(neighbour.id, snapshotId, signal());
      await sandboxes.driver.deleteSnapshot(snapshotId, signal());
      await sandboxes.driver.destroy(neighbour.id, signal());
      const left = () => ["sandboxes", "snapshots"].flatMap((name) => readdirSync(join(sandboxes.dataDir, name)));
      await expect.poll(left).toEqual([sandbox.id]);
    });
  });
}
