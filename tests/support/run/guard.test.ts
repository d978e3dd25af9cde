import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

test("only tests/support/machine.ts decides that a machine cannot run a test", () => {
  const files = globSync("{tests,contract,client,daemon,server,cli,web,scripts}/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  expect(files.length).toBeGreaterThan(100);
  const others = files
    .filter((file) => file !== "tests/support/machine.ts" && file !== "tests/support/run/guard.test.ts")
    .filter((file) => /\b(describe|test|it)\.(skip|skipIf|runIf|only|todo)\b/.test(readFileSync(join(root, file), "utf8")));
  expect(others).toEqual([]);
});
