import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const files = globSync("deploy/**/*", { cwd: root, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

test("no file in deploy/ names an architecture", () => {
  expect(files.length).toBeGreaterThan(5);
  const named = /x64|x86|amd64|arm64|aarch64|--platform|kubernetes\.io\/arch/i;
  expect(files.filter((file) => named.test(file.slice(root.length)) || named.test(readFileSync(file, "utf8")))).toEqual([]);
});
