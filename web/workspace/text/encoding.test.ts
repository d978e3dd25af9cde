import { expect, test } from "vitest";
import { decodeText, encodeText, type Encoding } from "./encoding.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

test.each<[Encoding, Uint8Array, string]>([
  ["utf-8", bytes(0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0x62, 0x0d), "\uFEFFa\r\nb\r"],
  ["utf-8", bytes(0xc3, 0xa9), "é"],
  ["utf-16le", bytes(0xff, 0xfe, 0x61, 0x00, 0xac, 0x20, 0x3d, 0xd8, 0x00, 0xde), "\uFEFFa€😀"],
  ["utf-16be", bytes(0xfe, 0xff, 0x00, 0x61, 0x20, 0xac), "\uFEFFa€"],
  ["windows-1252", bytes(0x63, 0x61, 0x66, 0xe9, 0x20, 0x80, 0x0a), "café €\n"],
])("%s is decoded, and encoded to the same bytes", (encoding, original, text) => {
  expect(decodeText(original)).toEqual({ text, encoding });
  expect(encodeText(text, encoding)).toEqual(original);
});

test("bytes that are no text are not decoded", () => {
  expect(decodeText(bytes(0x61, 0x00))).toBeNull();
  expect(decodeText(bytes(0x61, 0xe9, 0x01))).toBeNull();
  expect(decodeText(bytes(0xff, 0xfe, 0x61))).toBeNull();
  expect(decodeText(bytes(0xff, 0xfe, 0x00, 0xd8))).toBeNull();
});

test("a character that the encoding lacks is refused", () => {
  expect(() => encodeText("a → b", "windows-1252")).toThrow('"→" cannot be written in Windows-1252');
});
