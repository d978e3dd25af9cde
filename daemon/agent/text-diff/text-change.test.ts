import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareTexts, lineReader, revise, textWith, toBytes } from "./text-change.ts";

const none = new Set<number>();
const numbers = (count: number) => Array.from({ length: count }, (_line, index) => `line ${index}`);
const text = (lines: string[], end = "\n") => Buffer.from(lines.map((line) => line + end).join(""));
const before = text(numbers(30));
const after = text(numbers(30).flatMap((line, index) => (index === 5 ? ["five", "and a half"] : index === 20 ? [] : [line])));

function reject(from: Buffer, to: Buffer, hunks: number[], present = to, reverted: number[] = []) {
  const revised = revise(compareTexts(from, to)!, { reverted: new Set(reverted), wanted: new Set([...reverted, ...hunks]) }, present);
  return "bytes" in revised ? revised.bytes : revised.conflicts;
}

test("rejected hunks return to the lines before the turn, one by one, all together, and back again", () => {
  const change = compareTexts(before, after)!;
  expect(change.hunks).toHaveLength(2);
  const first = reject(before, after, [0]) as Buffer;
  expect(first).toEqual(text(numbers(30).filter((_line, index) => index !== 20)));
  expect(reject(before, after, [1], first, [0])).toEqual(before);
  expect(reject(before, after, [0, 1])).toEqual(before);
  expect(revise(change, { reverted: new Set([0, 1]), wanted: none }, before)).toEqual({ bytes: after });
  // The text already has the wanted lines.
  expect(reject(before, after, [0, 1], before)).toEqual(before);
});

test("a hunk is found in a file that has changed elsewhere, and not where the same lines occur", () => {
  const later = Buffer.concat([Buffer.from("first line\n"), after, Buffer.from("last line\n")]);
  expect(reject(before, after, [0, 1], later)).toEqual(Buffer.concat([Buffer.from("first line\n"), before, Buffer.from("last line\n")]));
  // The line after the change exists twice.
  expect(reject(Buffer.from("a = foo\nb = bar\n"), Buffer.from("a = bar\nb = bar\n"), [0])).toEqual(Buffer.from("a = foo\nb = bar\n"));
});

test("a hunk that has changed since the turn is a conflict, and the others are not", () => {
  const later = Buffer.from(String(after).replace("and a half", "and a quarter"));
  expect(reject(before, after, [0], later)).toEqual([0]);
  expect(reject(before, after, [0, 1], later)).toEqual([0]);
  expect(String(reject(before, after, [1], later))).toContain("and a quarter\n");
  expect(reject(before, after, [0], Buffer.from("all new\n"))).toEqual([0]);
});

test("line ends, a missing newline at the end, Latin-1 and UTF-16 come back byte for byte", () => {
  const wide = (value: string) => Buffer.from(`\uFEFF${value}`, "utf16le");
  const pairs: [Buffer, Buffer][] = [
    [text(["a", "b"], "\r\n"), text(["a", "c"], "\r\n")],
    [text(["a", "b"], "\r\n"), text(["a", "b"])],
    [Buffer.from("a"), Buffer.from("a\n")],
    [Buffer.from("a\nb"), Buffer.from("a")],
    [Buffer.from("caf\xe9\n", "latin1"), Buffer.from("caf\xe9s\n", "latin1")],
    // U+0A0D and U+0D0A contain the byte of a line end.
    [wide("a\u0a0d\nb\u0d0a\n"), wide("a\u0a0d\nc\u0d0a\nd")],
    [wide("a\nb").swap16(), wide("a\nc").swap16()],
  ];
  for (const [from, to] of pairs) {
    const change = compareTexts(from, to)!;
    expect([toBytes(change.before, change.unit), toBytes(change.after, change.unit)]).toEqual([from, to]);
    expect(reject(from, to, [...change.hunks.keys()])).toEqual(from);
  }
});

test("a file whose encoding has changed, and one that is not a text, have no hunks", () => {
  const wide = Buffer.from("\uFEFFtext\n", "utf16le");
  expect(compareTexts(wide, Buffer.from("text\n"))).toBeNull();
  expect(compareTexts(Buffer.from([0, 1, 2]), Buffer.from("text\n"))).toBeNull();
  expect(compareTexts(null, Buffer.from([1, 0]))).toBeNull();
});

test("lines are shown in the file's encoding", () => {
  const shown = (bytes: Buffer) => {
    const change = compareTexts(null, bytes)!;
    return change.after.map(lineReader(change));
  };
  expect(shown(Buffer.from("café\n"))).toEqual(["café\n"]);
  expect(shown(Buffer.from("caf\xe9 \x80\n", "latin1"))).toEqual(["café €\n"]);
  expect(shown(Buffer.from("\uFEFFcafé\n", "utf16le"))).toEqual(["café\n"]);
});

test("any set of hunks can be rejected in any order, and the rest of the file stays", () => {
  const lines = fc.array(fc.constantFrom("a\n", "b\r\n", "\n", "c\n", "d\n", "é\n", "e"), { maxLength: 40 }).map((all) => all.join(""));
  fc.assert(
    fc.property(lines, lines, fc.infiniteStream(fc.boolean()), (from, to, coins) => {
      const [first, last] = [Buffer.from(from, "latin1"), Buffer.from(to, "latin1")];
      const change = compareTexts(first, last)!;
      const chosen = new Set([...change.hunks.keys()].filter(() => coins.next().value === true));
      const half = revise(change, { reverted: none, wanted: chosen }, last);
      expect(half).toEqual({ bytes: toBytes(textWith(change, chosen), change.unit) });
      const present = "bytes" in half ? half.bytes : last;
      expect(revise(change, { reverted: chosen, wanted: new Set(change.hunks.keys()) }, present)).toEqual({ bytes: first });
    }),
  );
});
