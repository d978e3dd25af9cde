import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../clock.ts";
import { silentLog } from "../log.ts";
import { createTestClock } from "../testing/test-clock.ts";
import { openDiskWatch } from "./disk-watch.ts";

// A watch over a folder on the machine's disk, which has a little free space at least, and a machine with that memory.
async function openWatch({ memoryBytes }: { memoryBytes: number }) {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-disk-watch-"));
  const clock = createTestClock();
  const machine = { memoryBytes, unwrittenBytes: 0, ofSandboxes: 0, reads: 0 };
  const memory = { totalBytes: () => machine.memoryBytes, unwrittenBytes: () => (machine.reads++, machine.unwrittenBytes) };
  const unwrittenBytes = () => machine.ofSandboxes;
  const watch = await openDiskWatch({ dataDir, reserveMib: 1, storeFile: null, unwrittenBytes, memory, clock, log: silentLog });
  return {
    watch,
    clock,
    machine,
    async [Symbol.asyncDispose]() {
      await watch[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true });
    },
  };
}

test("what the kernel still has to write is not read while the disk has room for all of the memory", async () => {
  await using opened = await openWatch({ memoryBytes: 0 });
  await opened.clock.advance(10 * SECOND);
  expect(opened.machine.reads).toBe(0);
  expect(opened.watch.level()).toBe("enough");
});

test("it is read at every look when the disk would have no room for all of the memory, and counts as written", async () => {
  await using opened = await openWatch({ memoryBytes: Infinity });
  const { machine, watch, clock } = opened;
  const before = machine.reads;
  await clock.advance(SECOND);
  expect(machine.reads).toBe(before + 10);
  expect(watch.level()).toBe("enough");
  [machine.unwrittenBytes, machine.ofSandboxes] = [Infinity, Infinity];
  await clock.advance(SECOND / 10);
  expect(watch.level()).toBe("full");
  [machine.unwrittenBytes, machine.ofSandboxes] = [0, 0];
  await clock.advance(SECOND / 10);
  expect(watch.level()).toBe("enough");
});

test("memory that a machine gets later is seen within a minute", async () => {
  await using opened = await openWatch({ memoryBytes: 0 });
  opened.machine.memoryBytes = Infinity;
  await opened.clock.advance(MINUTE);
  expect(opened.machine.reads).toBeGreaterThan(0);
});
