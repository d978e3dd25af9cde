import { expect, test } from "vitest";
import { withoutHunks } from "./without-hunks.ts";

const numbers = (count: number) => Array.from({ length: count }, (_line, index) => `line ${index}`);
const text = (lines: string[]) => `${lines.join("\n")}\n`;
const oldText = text(numbers(30));
const newText = text(numbers(30).flatMap((line, index) => (index === 5 ? ["five", "and a half"] : index === 20 ? [] : [line])));

test("rejected hunks return to the old lines, one by one and all together", () => {
  const first = withoutHunks(newText, { oldText, newText }, [0]);
  expect(first).toBe(text(numbers(30).filter((_line, index) => index !== 20)));
  expect(withoutHunks(first!, { oldText, newText, review: { 0: "rejected" } }, [1])).toBe(oldText);
  expect(withoutHunks(newText, { oldText, newText, review: { 0: "accepted" } }, [0, 1])).toBe(oldText);
});

test("a hunk is found in a file that has changed elsewhere", () => {
  const later = `first line\n${newText}last line\n`;
  expect(withoutHunks(later, { oldText, newText }, [0, 1])).toBe(`first line\n${oldText}last line\n`);
});

test("a hunk that was changed, or that occurs twice, is not replaced", () => {
  expect(withoutHunks(newText.replace("and a half", "and a quarter"), { oldText, newText }, [0])).toBeNull();
  expect(withoutHunks(newText + newText, { oldText, newText }, [0])).toBeNull();
});

test("an edit that covers a part of a file is found in it", () => {
  expect(withoutHunks("a\nb\nnew\nc\n", { oldText: "b\nold\nc\n", newText: "b\nnew\nc\n" }, [0])).toBe("a\nb\nold\nc\n");
});

test("a file without a newline at its end stays one", () => {
  expect(withoutHunks("a\nnew", { oldText: "a\nold", newText: "a\nnew" }, [0])).toBe("a\nold");
});
