import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

test("`npm test -- {file} -t {name}` runs the tests of that file whose name matches", async () => {
  const args = ["scripts/test.ts", "scripts/platform-packages.test.ts", "-t", "a package's platform is read from its name"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout.trim().split("\n").at(-1)).toMatch(/^1 passed, 0 failed, [1-9]\d* skipped$/);
});
