import type { GitFile } from "@berth/contract/git.ts";
import { expect, test } from "vitest";
import { gitMarks, letterOf } from "./git-marks.ts";

const file = (path: string, change: Partial<GitFile>): GitFile => ({ path, staged: null, unstaged: null, conflict: false, ...change });

test("a file shows its latest change, and a folder the most important one of its files", () => {
  const marks = gitMarks([
    file("a/b/new.ts", { unstaged: "untracked" }),
    file("a/staged.ts", { staged: "added", unstaged: "modified" }),
    file("a/c/gone.ts", { unstaged: "deleted" }),
    file("d/both.ts", { conflict: true }),
    file("top.ts", { staged: "renamed" }),
  ]);
  expect(Object.fromEntries(marks)).toEqual({
    "a/b/new.ts": "untracked",
    "a/b": "untracked",
    "a/staged.ts": "modified",
    a: "modified",
    "a/c/gone.ts": "deleted",
    "a/c": "modified",
    "d/both.ts": "conflict",
    d: "conflict",
    "top.ts": "renamed",
  });
});

test("each change has a letter", () => {
  expect((["added", "modified", "deleted", "renamed", "untracked", "conflict"] as const).map(letterOf).join("")).toBe("AMDRU!");
});
