import { expect, test } from "vitest";
import { contentOf, decodeText } from "./content.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

test("text keeps its byte order mark and line endings", () => {
  const original = bytes(0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0x62, 0x0d);
  const text = decodeText(original);
  expect(text).toBe("\uFEFFa\r\nb\r");
  expect(new TextEncoder().encode(text ?? "")).toEqual(original);
});

test("a file that is not UTF-8 or has a NUL near its start is not opened as text", () => {
  expect(decodeText(bytes(0xff, 0xfe, 0x61))).toBeNull();
  expect(decodeText(bytes(0x61, 0x00))).toBeNull();
});

test("an image is shown as an image however large it is", () => {
  expect(contentOf("logo.PNG", null)).toEqual({ kind: "image" });
  expect(contentOf("dump.sql", null)).toEqual({ kind: "large" });
});
