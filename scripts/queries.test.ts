import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// All SQL is in server/store, as functions that are named for what they do. Tests may look at rows directly.
const root = join(import.meta.dirname, "..");
const QUERY = /from "kysely"|\.(selectFrom|updateTable|insertInto|deleteFrom)\(|\bsql`|\bsql</;

test("only server/store builds queries", () => {
  const files = globSync("{cli,server}/**/*.ts", { cwd: root }).filter(
    (file) => !file.startsWith("server/store/") && !/node_modules|\.test\.ts$|\.suite\.ts$|\/testing(\/|\.ts$)/.test(file),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => QUERY.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
});
