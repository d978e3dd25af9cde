import { expect, test } from "vitest";
import { complete, mentionAt } from "./mention.ts";

test("a slash asks for commands only at the start of the message", () => {
  expect(mentionAt("/re", 3)).toEqual({ kind: "command", query: "re", start: 0 });
  expect(mentionAt("see /re", 7)).toBeNull();
  expect(mentionAt("/review now", 11)).toBeNull();
});

test("an at sign asks for files at the start of any word", () => {
  expect(mentionAt("look at @src/a", 14)).toEqual({ kind: "file", query: "src/a", start: 8 });
  expect(mentionAt("@", 1)).toEqual({ kind: "file", query: "", start: 0 });
  expect(mentionAt("ada@example.com", 15)).toBeNull();
  // The caret is elsewhere.
  expect(mentionAt("@a and more", 11)).toBeNull();
});

test("a chosen word replaces what was typed of it", () => {
  const text = "look at @sr please";
  expect(complete(text, 11, mentionAt(text, 11)!, "@src/a.ts")).toEqual({ text: "look at @src/a.ts please", caret: 18 });
  expect(complete("/re", 3, mentionAt("/re", 3)!, "/review")).toEqual({ text: "/review ", caret: 8 });
});
