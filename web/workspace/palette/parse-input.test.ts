import { expect, test } from "vitest";
import { parseInput } from "./parse-input.ts";

test.each([
  ["> save", { kind: "commands", query: " save" }],
  ["@ go", { kind: "symbols", query: "go" }],
  [":", { kind: "line", location: null }],
  [":x", { kind: "line", location: null }],
  [":12", { kind: "line", location: { line: 12, column: 1 } }],
  [":12:5", { kind: "line", location: { line: 12, column: 5 } }],
  [": 12 , 5", { kind: "line", location: { line: 12, column: 5 } }],
  [":0", { kind: "line", location: { line: 1, column: 1 } }],
  ["file.ts", { kind: "files", query: "file.ts", location: null }],
  ["file.ts:", { kind: "files", query: "file.ts", location: null }],
  ["src/file.ts:12", { kind: "files", query: "src/file.ts", location: { line: 12, column: 1 } }],
  ["file.ts:12:5", { kind: "files", query: "file.ts", location: { line: 12, column: 5 } }],
  ["file.ts:12:5:", { kind: "files", query: "file.ts", location: { line: 12, column: 5 } }],
  ["a:b", { kind: "files", query: "a:b", location: null }],
])("reads %s", (text, expected) => {
  expect(parseInput(text)).toEqual(expected);
});
