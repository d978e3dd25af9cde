import { expect, test } from "vitest";
import { hexRow } from "./hex-rows.ts";

test("a row shows its offset, bytes and characters, and a short row is as wide as others", () => {
  expect(hexRow(new TextEncoder().encode("Hello, berth!\n\0~"), 0x1f0)).toEqual({
    offset: "000001f0",
    hex: "48 65 6c 6c 6f 2c 20 62  65 72 74 68 21 0a 00 7e",
    text: "Hello, berth!··~",
  });
  const short = hexRow(new Uint8Array([0xff]), 0);
  expect(short.hex).toHaveLength(48);
  expect(short.text).toBe("·");
});
