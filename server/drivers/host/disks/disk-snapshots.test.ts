import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine, type Missing } from "../../../../tests/support/machine.ts";
import { mergeRanges } from "./block-writes.ts";
import { mustRun, run } from "../run.ts";
import { createDiskSnapshots } from "./disk-snapshots.ts";
import { createSandboxDisks, probeDisks } from "./sandbox-disks.ts";

const TRACES = "/sys/kernel/tracing/instances";
// Each file is renamed when it is complete, and its number is then added to the log.
const WRITER = "i=0; while :; do i=$((i+1)); { echo $i; head -c 300000 /dev/zero; } > new; mv new current; echo $i >> log; done";

describeWith(machine.root ?? (await findMissing()), "a snapshot of a disk", () => {
  const disks = createSandboxDisks({ bounded: true });
  let dataDir: string;
  const folderOf = (name: string) => join(dataDir, name);
  const open = (name: string, source?: () => string) => {
    mkdirSync(folderOf(name), { recursive: true });
    return disks.open(folderOf(name), { create: { diskMb: 128, source }, owner: 12_345, signal: AbortSignal.timeout(30_000) });
  };

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "berth-snapshots-"));
  });
  afterEach(async () => {
    for (const name of ["first", "second"]) await disks.close(folderOf(name));
    rmSync(dataDir, { recursive: true });
  });

  test("is taken while a program writes, and is a sound file system with the files of one moment", async () => {
    const snapshots = createDiskSnapshots({ dataDir, disks, diskReserveMib: 0 });
    const { workspace } = await open("first");
    const writer = spawn("sh", ["-c", WRITER], { cwd: workspace, detached: true });
    await expect.poll(() => existsSync(join(workspace, "log")), { timeout: 30_000 }).toBe(true);
    const signalGroup = (signal: NodeJS.Signals) => void process.kill(-writer.pid!, signal);
    const hold = { freeze: async () => signalGroup("SIGSTOP"), thaw: () => signalGroup("SIGCONT") };
    const id = newId("snp", Date.now());
    const { bytes, frozenMs } = await snapshots.take(id, folderOf("first"), hold, AbortSignal.timeout(60_000));
    const lines = () => readFileSync(join(workspace, "log"), "utf8").split("\n").length;
    const before = lines();
    await expect.poll(lines, { timeout: 30_000 }).toBeGreaterThan(before);
    signalGroup("SIGKILL");
    await once(writer, "close");
    expect(frozenMs).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(128 * 1024 * 1024);

    // The first check replays the journal, as a mount does.
    const image = join(dataDir, "snapshots", id, "volume.img");
    expect([0, 1]).toContain((await run("e2fsck", ["-p", image])).code);
    await mustRun("e2fsck", ["-f", "-n", image]);
    const { workspace: copy } = await open("second", snapshots.sourceOf(id));
    const [current, last] = [readFileSync(join(copy, "current")), readFileSync(join(copy, "log"), "utf8").trim().split("\n").at(-1)];
    const number = Number.parseInt(current.subarray(0, 20).toString(), 10);
    expect(current.length).toBe(300_000 + `${number}\n`.length);
    expect([0, 1]).toContain(number - Number(last));
    expect(statSync(join(copy, "current")).uid).toBe(12_345);
    expect(existsSync(TRACES) ? readdirSync(TRACES).filter((name) => name.includes(id)) : []).toEqual([]);
    await snapshots.remove(id);
    expect(await snapshots.list()).toEqual([]);
  });
});

test("written parts that touch or overlap are copied once", () => {
  const ranges = [
    { offset: 4096, length: 4096 },
    { offset: 0, length: 4096 },
    { offset: 6000, length: 512 },
    { offset: 20_480, length: 512 },
  ];
  expect(mergeRanges(ranges)).toEqual([
    { offset: 0, length: 8192 },
    { offset: 20_480, length: 512 },
  ]);
});

async function findMissing(): Promise<Missing> {
  const { bounded, reason } = await probeDisks(mkdtempSync(join(tmpdir(), "berth-volume-probe-")));
  return bounded ? undefined : reason;
}
