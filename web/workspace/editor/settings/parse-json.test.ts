import { expect, test } from "vitest";
import { formatSettingsJson, parseSettingsJson } from "./parse-json.ts";

test("settings are read, and problems have a place", () => {
  const text = '{\n  "editor.fontSize": 99,\n  "editor.wordWrap": true\n}';
  const { values, problems } = parseSettingsJson(text);
  expect(values).toEqual({ "editor.fontSize": 99, "editor.wordWrap": true });
  expect(problems).toEqual([{ from: 4, to: 21, message: "editor.fontSize must be a number from 8 to 40." }]);
  expect(text.slice(4, 21)).toBe('"editor.fontSize"');
});

test("an empty text has no settings", () => {
  expect(parseSettingsJson(" \n")).toEqual({ values: {}, problems: [] });
  expect(parseSettingsJson(formatSettingsJson({}))).toEqual({ values: {}, problems: [] });
});

test.each(["[]", "1", "null"])("%s is not an object", (text) => {
  expect(parseSettingsJson(text)).toMatchObject({ values: null, problems: [{ message: expect.stringContaining("must be an object") }] });
});

test("a syntax error names its line", () => {
  const { values, problems } = parseSettingsJson('{\n  "a": 1,\n}');
  expect(values).toBeNull();
  expect(problems[0]!.message).toContain("not valid JSON (line 3, column 1)");
});

test("a long text is refused", () => {
  expect(parseSettingsJson(JSON.stringify({ a: "x".repeat(40_000) })).problems[0]!.message).toContain("too long");
});
