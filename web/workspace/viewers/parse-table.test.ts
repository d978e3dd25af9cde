import { expect, test } from "vitest";
import { parseTable, separatorOf } from "./parse-table.ts";

const rowsOf = (text: string) => parseTable(text, ",", 100).rows;

test("fields, quotes, line breaks in quotes and empty fields are read", () => {
  expect(rowsOf("a,b\r\n1,2\n")).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(rowsOf('"x,y","say ""hi""","two\nlines"\n')).toEqual([["x,y", 'say "hi"', "two\nlines"]]);
  expect(rowsOf("a,,c\n,")).toEqual([
    ["a", "", "c"],
    ["", ""],
  ]);
  expect(rowsOf("\uFEFFa")).toEqual([["a"]]);
  expect(rowsOf("")).toEqual([]);
});

test("malformed and long texts end", () => {
  expect(rowsOf('"never closed,1\n2')).toEqual([["never closed,1\n2"]]);
  expect(rowsOf('"a"b,c')).toEqual([["ab", "c"]]);
  expect(parseTable("1\n2\n3\n", ",", 2)).toEqual({ rows: [["1"], ["2"]], truncated: true });
});

test("the separator is the one that the first line has most often", () => {
  expect(separatorOf("a;b;c\n1,2,3,4")).toBe(";");
  expect(separatorOf("a\tb")).toBe("\t");
  expect(separatorOf('"x;y;z",b')).toBe(",");
  expect(separatorOf("")).toBe(",");
});
