import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VARIABLES } from "./config-variables.ts";
import { describeDefault, type Config } from "./config.ts";

test("the README's table lists every setting with its default and meaning", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const rows = Object.entries(VARIABLES).map(
    ([field, { name, help }]) => `| \`${name}\` | ${describeDefault(field as keyof Config)} | ${help} |`,
  );
  expect(rows.filter((row) => !readme.includes(row))).toEqual([]);
});
