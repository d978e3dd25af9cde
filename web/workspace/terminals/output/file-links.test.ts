import { expect, test } from "vitest";
import { chooseFile, findFileLinks } from "./file-links.ts";

test.each([
  ["src/a.ts:12:5 - error TS2322", "src/a.ts", 12, 5],
  ["./src/a.ts:12: warning", "./src/a.ts", 12, 1],
  ["    at run (/workspace/src/a.js:3:14)", "/workspace/src/a.js", 3, 14],
  ["main.go:7:2: undefined", "main.go", 7, 2],
  ["src/a.ts(3,9): error", "src/a.ts", 3, 9],
  ['  File "/workspace/app/x y.py", line 42, in main', "/workspace/app/x y.py", 42, 1],
  [" ❯ tests/a.test.ts:10:3", "tests/a.test.ts", 10, 3],
])("in %j a link leads to %s:%i:%i", (text, path, line, column) => {
  expect(findFileLinks(text)).toEqual([expect.objectContaining({ path, line, column })]);
});

test.each([
  "http://localhost:3000/a",
  "https://example.com:443",
  "localhost:8080",
  "12:30:05",
  "listening on 127.0.0.1:80",
  "error: 5",
  "a.ts",
])("%j has no link to a file", (text) => expect(findFileLinks(text)).toEqual([]));

test("an endless line is not searched", () => {
  expect(findFileLinks(`${"a/".repeat(1_000_000)}a.ts:1`)).toEqual([]);
});

test("a link covers its text exactly", () => {
  const text = "see src/a.ts:12:5 here";
  const [link] = findFileLinks(text);
  expect(text.slice(link!.start, link!.start + link!.length)).toBe("src/a.ts:12:5");
});

test("the file with the longest common end is meant", () => {
  const files = ["a.ts", "lib/src/a.ts", "src/a.ts"];
  expect(chooseFile("/workspace/src/a.ts", files)).toBe("src/a.ts");
  expect(chooseFile("/elsewhere/lib/src/a.ts", files)).toBe("lib/src/a.ts");
  expect(chooseFile("a.ts", files)).toBe("a.ts");
  expect(chooseFile("../src/a.ts", files)).toBe("src/a.ts");
  expect(chooseFile("src/b.ts", ["other/c.ts"])).toBeNull();
});
