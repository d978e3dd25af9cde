import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine, type Missing } from "../../../../tests/support/machine.ts";
import { mountSmallDisk } from "../../../../tests/support/small-disk.ts";
import { mustRun } from "../run.ts";
import { bypassPageCache } from "./loop-devices.ts";
import { createSandboxDisks, probeDisks } from "./sandbox-disks.ts";

describeWith(machine.root ?? (await findMissing()), "the disk of a sandbox", () => {
  const disks = createSandboxDisks({ bounded: true });
  let folder: string;
  const open = () => disks.open(folder, { create: { diskMb: 64 }, owner: 12_345, signal: AbortSignal.timeout(30_000) });
  const attached = () =>
    readdirSync("/sys/block")
      .map((name) => `/sys/block/${name}/loop/backing_file`)
      .filter((file) => existsSync(file) && readFileSync(file, "utf8").startsWith(folder));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-volume-"));
  });
  afterEach(async () => {
    await disks.close(folder);
    rmSync(folder, { recursive: true });
  });

  test("has a size limit, belongs to the sandbox's user, and takes little space of the disk", async () => {
    const { workspace, home } = await open();
    expect(statSync(workspace)).toMatchObject({ uid: 12_345, gid: 12_345 });
    expect(statSync(home).mode & 0o777).toBe(0o700);
    const { blocks, bsize, files } = statfsSync(workspace);
    expect(blocks * bsize).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(files).toBeLessThanOrEqual(64 * 64);
    expect(statSync(join(folder, "volume.img")).blocks * 512).toBeLessThan(2 * 1024 * 1024);
  });

  test("is attached so that the kernel can bypass the page cache, and detached with its last mount", async () => {
    await open();
    const device = dirname(attached()[0]!);
    expect(readFileSync(join(device, "autoclear"), "utf8").trim()).toBe("1");
    const number = disks.deviceOf(folder)!;
    expect(readFileSync(join(device, "../dev"), "utf8").trim()).toBe(number);
    await bypassPageCache(number);
    expect(readFileSync(join(device, "dio"), "utf8").trim()).toBe("1");
  });

  test("keeps its content when it is closed and opened again, and both calls are idempotent", async () => {
    const { workspace } = await open();
    await open();
    writeFileSync(join(workspace, "note"), "kept");
    await disks.close(folder);
    await disks.close(folder);
    expect(attached()).toEqual([]);
    await open();
    expect(readFileSync(join(workspace, "note"), "utf8")).toBe("kept");
    expect(attached()).toHaveLength(1);
  });

  test("closes while a process of the host uses it, and opens again through the same device", async () => {
    const { workspace } = await open();
    const operator = spawn("sleep", ["100"], { cwd: workspace });
    await once(operator, "spawn");
    await disks.close(folder);
    const again = await open();
    writeFileSync(join(again.workspace, "note"), "whole");
    expect(attached()).toHaveLength(1);
    operator.kill();
    await once(operator, "exit");
    await disks.close(folder);
    expect(attached()).toEqual([]);
    await open();
    expect(readFileSync(join(workspace, "note"), "utf8")).toBe("whole");
  });

  test("starts empty, and is as good as the first one of its size", async () => {
    for (const name of ["first", "second"]) {
      mkdirSync(join(folder, name));
      const { workspace } = await disks.open(join(folder, name), {
        create: { diskMb: 48 },
        owner: 12_345,
        signal: AbortSignal.timeout(30_000),
      });
      expect(readdirSync(workspace)).toEqual([]);
      writeFileSync(join(workspace, "note"), name);
      await disks.close(join(folder, name));
      // Exits with 0 only if the file system has no errors.
      await mustRun("e2fsck", ["-f", "-n", join(folder, name, "volume.img")]);
      expect(statSync(join(folder, name, "volume.img")).blocks * 512).toBeLessThan(2 * 1024 * 1024);
    }
  });

  test("is created only by a call that says so, and never over files that exist", async () => {
    const resume = () => disks.open(folder, { owner: 12_345, signal: AbortSignal.timeout(30_000) });
    await expect(resume()).rejects.toMatchObject({ code: "disk_missing" });
    expect(readdirSync(folder)).toEqual([]);
    // This disk was made when there were no loop devices.
    await createSandboxDisks({ bounded: false }).open(folder, {
      create: { diskMb: 64 },
      owner: 12_345,
      signal: AbortSignal.timeout(30_000),
    });
    writeFileSync(join(folder, "volume/workspace/note"), "kept");
    const { workspace } = await open();
    expect(readFileSync(join(workspace, "note"), "utf8")).toBe("kept");
    expect(existsSync(join(folder, "volume.img"))).toBe(false);
  });

  test("that met an error is read-only, and is repaired when it is opened again", async () => {
    const { workspace } = await open();
    writeFileSync(join(workspace, "note"), "kept");
    await mustRun("sync", ["-f", workspace]);
    expect(disks.failedAmong([folder])).toEqual(new Set());
    const device = attached()[0]!.split("/")[3]!;
    writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, "1");
    expect(disks.failedAmong([folder])).toEqual(new Set([folder]));
    await disks.close(folder);
    await open();
    writeFileSync(join(workspace, "late"), "late");
    expect(readFileSync(join(workspace, "note"), "utf8")).toBe("kept");
    await disks.close(folder);
    await mustRun("e2fsck", ["-f", "-n", join(folder, "volume.img")]);
  });

  test("is written to the host's disk by a flush, and a later write that failed is found before the next one", async () => {
    await using host = mountSmallDisk(32);
    const path = join(host.folder, "sandbox");
    mkdirSync(path);
    const signal = AbortSignal.timeout(30_000);
    const { workspace } = await disks.open(path, { create: { diskMb: 64 }, owner: 12_345, signal });
    try {
      writeFileSync(join(workspace, "note"), "kept");
      await disks.flush(path, signal);
      host.fill();
      // Nothing is left to write.
      await disks.flush(path, signal);
      expect(await disks.hasFailed(path)).toBe(false);
      writeFileSync(join(workspace, "late"), Buffer.alloc(2 ** 20));
      await expect(disks.flush(path, signal)).rejects.toThrow(/Input\/output error|No space left on device/);
      host.free();
      expect(await disks.hasFailed(path)).toBe(true);
    } finally {
      await disks.close(path);
    }
  });

  test("the probe leaves nothing behind", async () => {
    const scratch = join(folder, "scratch");
    expect(await probeDisks(scratch)).toMatchObject({ bounded: true });
    expect(existsSync(scratch)).toBe(false);
    expect(attached()).toEqual([]);
  });
});

async function findMissing(): Promise<Missing> {
  const { bounded, reason } = await probeDisks(mkdtempSync(join(tmpdir(), "berth-volume-probe-")));
  return bounded ? undefined : reason;
}
