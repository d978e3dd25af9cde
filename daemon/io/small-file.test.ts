import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSmallFile } from "./small-file.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-small-file-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("reads a file up to the limit and refuses a larger one", async () => {
  const path = join(folder, "five");
  writeFileSync(path, "12345");
  expect(String(await readSmallFile(path, 5))).toBe("12345");
  expect(await readSmallFile(path, 4)).toBe("too_large");
});

test("refuses folders and FIFOs without blocking", async () => {
  execFileSync("mkfifo", [join(folder, "fifo")]);
  expect(await readSmallFile(join(folder, "fifo"), 5)).toBe("not_a_file");
  expect(await readSmallFile(folder, 5)).toBe("not_a_file");
});

test("throws if the file does not exist", async () => {
  await expect(readSmallFile(join(folder, "missing"), 5)).rejects.toMatchObject({ code: "ENOENT" });
});
