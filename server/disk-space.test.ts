import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machine, testWith } from "../tests/support/machine.ts";
import { diskLevelOf, readDiskSpace } from "./disk-space.ts";

const space = { freeBytes: 1000, spareBytes: 1000, reserveBytes: 500, lacksInodes: false };

test("a disk is low below the reserve, and full below half of it", () => {
  expect(diskLevelOf(space)).toBe("enough");
  expect(diskLevelOf({ ...space, spareBytes: 499 })).toBe("low");
  expect(diskLevelOf({ ...space, spareBytes: 249 })).toBe("full");
});

test("what the kernel has not written yet counts as used", () => {
  expect(diskLevelOf(space, 500)).toBe("enough");
  expect(diskLevelOf(space, 501)).toBe("low");
  expect(diskLevelOf(space, 751)).toBe("full");
});

test("without a reserve, a disk is never full", () => {
  expect(diskLevelOf({ ...space, spareBytes: 0, reserveBytes: 0 })).toBe("enough");
});

testWith(machine.root, "a disk without inodes is low although it has space, and a small one has a small reserve", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-space-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m,nr_inodes=1000", "tmpfs", folder]);
  try {
    const before = readDiskSpace(folder, 512);
    expect(before).toMatchObject({ lacksInodes: false, reserveBytes: 8 * 2 ** 20 });
    for (let i = 0; i < 995; i++) writeFileSync(join(folder, `${i}`), "");
    expect(diskLevelOf(readDiskSpace(folder, 512))).toBe("low");
  } finally {
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  }
});
