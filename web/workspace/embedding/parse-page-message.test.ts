import { expect, test } from "vitest";
import { parsePageMessage } from "./parse-page-message.ts";

test("accepts the commands of the contract", () => {
  expect(parsePageMessage({ berth: 1, type: "connect" })).toEqual({ berth: 1, type: "connect", canResume: false });
  expect(parsePageMessage({ berth: 1, type: "resume-done" })).toEqual({ berth: 1, type: "resume-done" });
  expect(parsePageMessage({ berth: 1, type: "theme", theme: "dark" })).toMatchObject({ theme: "dark" });
  expect(parsePageMessage({ berth: 1, type: "open-file", path: "/a//./b.ts", line: 3, column: 0 })).toEqual({
    berth: 1,
    type: "open-file",
    path: "a/b.ts",
    line: 3,
  });
});

test.each([
  null,
  "hello",
  { type: "connect" },
  { berth: 2, type: "connect" },
  { berth: 1, type: "unknown" },
  { berth: 1, type: "theme", theme: "url(x)" },
  { berth: 1, type: "open-file" },
  { berth: 1, type: "open-file", path: "" },
  { berth: 1, type: "open-file", path: "../secret" },
  { berth: 1, type: "open-file", path: "a".repeat(5000) },
])("ignores %j", (data) => {
  expect(parsePageMessage(data)).toBeNull();
});
