import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startTestDaemon } from "../testing/test-daemon.ts";
import { createDiskUse } from "./disk-use.ts";

const MB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "berth-disk-use-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function measure(folders: string[], maxFiles?: number): Promise<number> {
  const use = createDiskUse(folders, maxFiles === undefined ? {} : { maxFiles });
  await expect.poll(use.bytes).not.toBeNull();
  return use.bytes()!;
}

test("the space of all files counts, once for a file with two names and not for what a link points to", async () => {
  const [home, other] = [join(folder, "home"), join(folder, "other")];
  for (const path of [home, other, join(home, "a/b")]) mkdirSync(path, { recursive: true });
  const empty = await measure([home]);
  writeFileSync(join(home, "a/b/file"), Buffer.alloc(2 * MB, 1));
  linkSync(join(home, "a/b/file"), join(home, "again"));
  writeFileSync(join(other, "elsewhere"), Buffer.alloc(MB, 1));
  symlinkSync(other, join(home, "link"));
  const used = await measure([home]);
  expect(used - empty).toBeGreaterThanOrEqual(2 * MB);
  expect(used - empty).toBeLessThan(2 * MB + 64 * 1024);
  expect((await measure([home, other])) - used).toBeGreaterThanOrEqual(MB);
  expect(await measure([home, other], 1)).toBeLessThan(MB);
});

test("a daemon reports the space of its files", async () => {
  await using daemon = await startTestDaemon();
  writeFileSync(join(daemon.workspace, "large"), Buffer.alloc(3 * MB, 1));
  const read = async () => (await daemon.fetch<{ diskBytes: number | null }>("/internal/activity")).json.diskBytes;
  await expect.poll(read).toBeGreaterThanOrEqual(3 * MB);
  expect(await read()).toBeLessThan(16 * MB);
});
