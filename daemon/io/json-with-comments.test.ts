import { expect, test } from "vitest";
import { parseJsonWithComments } from "./json-with-comments.ts";

test("comments and commas at the end are ignored, but not in strings", () => {
  expect(parseJsonWithComments('\uFEFF{"a": "// no, /* no */ ,}", /* yes */ "b": [1, 2,], // yes\n}')).toEqual({
    a: "// no, /* no */ ,}",
    b: [1, 2],
  });
  expect(() => parseJsonWithComments('{"a": }')).toThrow("JSON");
});
