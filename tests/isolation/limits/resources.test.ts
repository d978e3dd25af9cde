import { spawnSync } from "node:child_process";
import { readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cgroupPrefix, openCgroups } from "../../../server/drivers/oci/cgroups/cgroups.ts";
import { createCpuPriorities } from "../../../server/drivers/oci/cgroups/cpu-priorities.ts";
import { describeWith, machine, testWith } from "../../support/machine.ts";
import { needsRoot, openSandboxes, missing, type Sandboxes, type Sandbox } from "../sandboxes.ts";
import { SYSCALLS } from "../syscalls/syscalls.ts";

const MiB = 1024 * 1024;

// Hostile code takes as much as it can get. The sandbox stays within its limits, its neighbour keeps answering, and every
// sandbox can still be destroyed.
describeWith(missing, "the resources of a sandbox", () => {
  let sandboxes: Sandboxes;
  let neighbour: Sandbox;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
    neighbour = await sandboxes.create();
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  const destroy = (sandbox: Sandbox) => sandboxes.driver.destroy(sandbox.id, AbortSignal.timeout(30_000));
  const isWell = async (sandbox: Sandbox) => (await sandbox.sh("echo well")).output === "well\n";

  testWith(
    needsRoot && "without root, processes and not threads are counted: without-root.test.ts",
    "a fork bomb ends at the process limit",
    async () => {
      const bomber = await sandboxes.create({ pids: 128 });
      const bombing = bomber.sh("(bomb() { bomb | bomb & }; bomb) > /dev/null 2>&1 & sleep 1", { timeoutMs: 5_000 }).catch(() => undefined);
      const processes = async () => (await sandboxes.driver.stats(bomber.id, AbortSignal.timeout(30_000))).pids ?? 0;
      await expect.poll(processes, { interval: 20 }).toBeGreaterThan(100);
      expect(await processes()).toBeLessThanOrEqual(128);
      expect(await isWell(neighbour)).toBe(true);
      await destroy(bomber);
      expect(await sandboxes.driver.inspect(bomber.id, AbortSignal.timeout(30_000))).toBe("absent");
      await bombing;
    },
  );

  describe("in one sandbox with little memory", () => {
    let hog: Sandbox;
    beforeAll(async () => void (hog = await sandboxes.create({ memoryMb: 192, tmpMb: 32 })));
    afterAll(() => destroy(hog));

    test("a memory hog is killed, and the sandbox and its neighbour keep running", async () => {
      const { code, output } = await hog.python("held = [bytearray(16 * 1024 * 1024) for _ in range(1000)]\nprint('got it all')");
      expect(output).not.toContain("got it all");
      expect(code).not.toBe(0);
      expect(await isWell(hog)).toBe(true);
      expect(await isWell(neighbour)).toBe(true);
    });

    test("files in /tmp and in shared memory count as memory and are bounded", async () => {
      const { output } = await hog.sh(
        "head -c 64M /dev/zero > /tmp/a; head -c 128M /dev/zero > /dev/shm/a; head -c 1M /dev/zero > /run/berth/a; stat -c %s /tmp/a /dev/shm/a /run/berth/a; rm -f /tmp/a /dev/shm/a /run/berth/a",
      );
      const sizes = output.trim().split("\n").slice(-3).map(Number);
      expect(sizes[0]).toBeLessThanOrEqual(32 * MiB);
      expect(sizes[1]).toBeLessThanOrEqual(64 * MiB);
      expect(sizes[2]).toBeLessThanOrEqual(64 * 1024);
    });

    testWith(needsRoot, "limits that change while it runs hold for what runs, with more and with less memory", async () => {
      const { liveLimits } = sandboxes.driver;
      const change = (memoryMb: number, cpus = 1) => liveLimits!.change(hog.id, { memoryMb, cpus }, AbortSignal.timeout(30_000));
      const take = (mib: number) => hog.python(`held = bytearray(${mib} << 20)\nprint("got it all")`);
      const usedMs = async () => (await sandboxes.driver.stats(hog.id, AbortSignal.timeout(30_000))).cpuMs ?? 0;
      expect((await take(300)).output).not.toContain("got it all");
      await change(512, 0.2);
      expect((await take(300)).output).toBe("got it all\n");
      const before = await usedMs();
      const startedMs = performance.now();
      await hog.sh("timeout 1 sh -c 'while :; do :; done'");
      const share = ((await usedMs()) - before) / (performance.now() - startedMs);
      expect(share).toBeLessThan(0.4);
      // The cache of files does not count as held, so a limit below it is not too small.
      await hog.sh("head -c 100M /dev/zero > cached; cat cached > /dev/null");
      const held = await liveLimits!.heldMemoryBytes(hog.id, AbortSignal.timeout(30_000));
      expect(held).toBeGreaterThan(5 * MiB);
      expect(held).toBeLessThan(150 * MiB);
      await change(192);
      await change(192);
      expect((await take(300)).output).not.toContain("got it all");
      expect(await isWell(hog)).toBe(true);
      await hog.sh("rm cached");
    });

    test("many small hogs together are killed before the daemon is", async () => {
      await hog.sh(
        "for i in $(seq 40); do python3 -c 'held = bytearray(6 << 20); import time; time.sleep(20)' > /dev/null 2>&1 & done; sleep 3",
      );
      expect(await isWell(hog)).toBe(true);
    });
  });

  describe("in one sandbox with much disk space", () => {
    let writer: Sandbox;
    beforeAll(async () => void (writer = await sandboxes.create({ diskMb: 512 })));

    testWith([needsRoot, machine.deviceLimits], "the disk is written at a limited rate", async () => {
      const write = async (options: string) => {
        const { output } = await writer.sh(`dd if=/dev/zero of=big bs=1M ${options} 2>&1`);
        return Number(/, ([\d.]+) s,/.exec(output)?.[1]);
      };
      expect(await write("count=192 oflag=direct")).toBeGreaterThan(1.5);
      // On cgroup v1, the kernel's writeback has a limit of its own, so both together can reach twice the limit.
      expect(await write("count=384 conv=fsync")).toBeGreaterThan(1.5);
    });

    testWith(
      [needsRoot, machine.directIo(), machine.command("fincore", "util-linux-extra")],
      "what is written does not fill the host's memory",
      async () => {
        await writer.sh("dd if=/dev/zero of=big bs=1M count=64 conv=fsync 2>&1");
        const image = join(sandboxes.dataDir, "sandboxes", writer.id, "volume.img");
        const { stdout } = spawnSync("fincore", ["--bytes", "--noheadings", "--output", "RES", image], { encoding: "utf8" });
        expect(stdout.trim()).toMatch(/^\d+$/);
        expect(Number(stdout)).toBeLessThan(32 * MiB);
      },
    );

    test("a very deep folder tree can be destroyed", async () => {
      await writer.python("import os\nfor _ in range(3000):\n    os.mkdir('d' * 100)\n    os.chdir('d' * 100)");
      await destroy(writer);
      expect(await sandboxes.driver.inspect(writer.id, AbortSignal.timeout(30_000))).toBe("absent");
    });
  });

  test("the disk is bounded in bytes, and a full one can still be hibernated and resumed", async () => {
    const filler = await sandboxes.create({ diskMb: 64 });
    const before = usedBytes(sandboxes.dataDir);
    await filler.sh("echo precious > note; head -c 200M /dev/urandom > big; cat big > ~/big; sync");
    expect(usedBytes(sandboxes.dataDir) - before).toBeLessThan(512 * MiB);
    expect(
      Number((await filler.sh("du -sm / --one-file-system /workspace ~ 2>/dev/null | grep workspace | cut -f1")).output),
    ).toBeLessThanOrEqual(64);
    await sandboxes.driver.hibernate(filler.id, AbortSignal.timeout(30_000));
    sandboxes.links.forget(filler.id);
    await sandboxes.driver.resume(filler.spec, AbortSignal.timeout(30_000));
    expect((await filler.sh("cat note; rm big ~/big; echo room > again; cat again")).output).toBe("precious\nroom\n");
    await destroy(filler);
  });

  testWith(needsRoot, "the disk is bounded in files", async () => {
    const filler = await sandboxes.create({ diskMb: 32 });
    const { output } = await filler.python(`
made = 0
try:
    while made < 200000:
        open("/workspace/f%d" % made, "w").close()
        made += 1
except OSError as error:
    print(error.strerror)
print(made)`);
    const [reason, made] = output.trim().split("\n");
    expect(reason).toBe("No space left on device");
    expect(Number(made)).toBeLessThan(20_000);
    expect(await isWell(neighbour)).toBe(true);
    await destroy(filler);
  });

  testWith(needsRoot, "the processor is shared by quota", async () => {
    const burner = await sandboxes.create({ cpus: 0.2 });
    const used = async () => (await sandboxes.driver.stats(burner.id, AbortSignal.timeout(30_000))).cpuMs ?? 0;
    await burner.sh("for i in 1 2 3 4; do (while :; do :; done) > /dev/null 2>&1 & done");
    const [startMs, beforeMs] = [performance.now(), await used()];
    await neighbour.sh("sleep 1");
    const share = ((await used()) - beforeMs) / (performance.now() - startMs);
    expect(share).toBeLessThan(0.4);
    await destroy(burner);
  });

  testWith(
    needsRoot,
    "a sandbox that uses much processor time goes to the background, and its neighbour does not; a frozen one uses none",
    async () => {
      const burner = await sandboxes.create();
      const cgroups = openCgroups(cgroupPrefix(realpathSync(sandboxes.dataDir)));
      // A small machine without other programs, because other tests may leave this one little time.
      const machineOptions = { cores: 0.02, readIdleMs: () => performance.now() };
      const priorities = createCpuPriorities({ cgroups, list: () => [burner.id, neighbour.id], ...machineOptions });
      await burner.sh("for i in 1 2 3 4; do (while :; do :; done) > /dev/null 2>&1 & done");
      const isMoved = async () => {
        await priorities.update();
        return cgroups.isBackground(burner.id);
      };
      await expect.poll(isMoved, { timeout: 20_000, interval: 150 }).toBe(true);
      expect(cgroups.isBackground(neighbour.id)).toBe(false);
      expect(await isWell(neighbour)).toBe(true);

      // When it is frozen, it uses none.
      await sandboxes.driver.pause(burner.id, AbortSignal.timeout(30_000));
      const used = async () => (await sandboxes.driver.stats(burner.id, AbortSignal.timeout(30_000))).cpuMs;
      const before = await used();
      await neighbour.sh("sleep 0.3");
      expect(await used()).toBe(before);
      await destroy(burner);
    },
  );

  test("open files and sockets are bounded, and the host keeps enough of them", async () => {
    const { output } = await neighbour.python(`${SYSCALLS}
held = []
try:
    while len(held) < 100000: held.append(socket.socketpair())
except OSError as error: print(errno.errorcode[error.errno])
print(len(held))`);
    const [reason, count] = output.trim().split("\n");
    expect(reason).toBe("EMFILE");
    expect(Number(count)).toBeLessThanOrEqual(8192);
  });

  test("orphaned processes are reaped", async () => {
    await neighbour.sh("for i in $(seq 50); do (sleep 0.05 &) ; done");
    await expect.poll(async () => (await neighbour.sh("ps -eo stat= | grep -c Z")).output).toBe("0\n");
  });
});

// The disk space of the sandboxes' images; those of other tests on the same disk do not count.
function usedBytes(dataDir: string): number {
  const folder = join(dataDir, "sandboxes");
  const images = readdirSync(folder).map((id) => statSync(join(folder, id, "volume.img"), { throwIfNoEntry: false }));
  return images.reduce((sum, image) => sum + (image?.blocks ?? 0) * 512, 0);
}
