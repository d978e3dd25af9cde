import { expect, test } from "vitest";
import { rank } from "./find.ts";

const files = ["src/main.ts", "src/domain/train.ts", "docs/maintenance.md", "README.md", "server/main.test.ts", "web/Main.tsx"];

test("file names that start with the query come first, shorter paths before longer ones", () => {
  expect(rank(files, "main").slice(0, 3)).toEqual(["src/main.ts", "web/Main.tsx", "docs/maintenance.md"]);
});

test("letters may be apart and span folders, but must be in order", () => {
  expect(rank(files, "smt")[0]).toBe("src/main.ts");
  expect(rank(files, "readme")).toEqual(["README.md"]);
  expect(rank(files, "xyz")).toEqual([]);
  expect(rank(files, "")).toHaveLength(files.length);
});
