import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { machine, testWith } from "../../tests/support/machine.ts";
import { findLockHolder, lockDataFolder, otherServersRun } from "./data-folder-lock.ts";

const folders = ["one", "two"].map((name) => mkdtempSync(join(tmpdir(), `berth-lock-${name}-`))) as [string, string];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

testWith(machine.linux, "one process at a time locks a data folder, and the lock identifies it", async () => {
  const [folder, other] = folders;
  expect(await findLockHolder(folder)).toBeNull();
  {
    await using lock = await lockDataFolder(folder);
    expect(lock).toBeDefined();
    expect(await findLockHolder(folder)).toBe(process.pid);
    expect(await findLockHolder(other)).toBeNull();
    expect(await otherServersRun(other)).toBe(true);
    await expect(lockDataFolder(folder)).rejects.toThrow(`Another server uses the data folder ${folder}`);
  }
  expect(await findLockHolder(folder)).toBeNull();
  await (await lockDataFolder(folder))[Symbol.asyncDispose]();
});
