import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeSharedFiles } from "./shared-files.ts";

test("the shared files are removed only if no sandbox is left on the machine", () => {
  const parent = mkdtempSync(join(tmpdir(), "berth-shared-"));
  const folder = join(parent, "berth");
  mkdirSync(join(folder, "roots/0123"), { recursive: true });
  writeFileSync(join(folder, "probe.json"), "{}");
  expect(removeSharedFiles(folder, () => ["of-another-installation"])).toBe(false);
  expect(existsSync(join(folder, "roots/0123"))).toBe(true);
  expect(removeSharedFiles(folder, () => [])).toBe(true);
  expect(existsSync(folder)).toBe(false);
  expect(removeSharedFiles(folder, () => ["of-another-installation"])).toBe(true);
  rmSync(parent, { recursive: true });
});
