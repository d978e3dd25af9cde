import { expect, test } from "vitest";
import { parseSubIds } from "./sub-ids.ts";

test("the first range of a user counts, by name or by number, and malformed lines do not", () => {
  const text = "other:100000:65536\nme:x:65536\nme:165536:65536\nme:900000:1000\n4242:300000:70000\n";
  expect(parseSubIds(text, ["me", "1000"])).toEqual({ first: 165_536, count: 65_536 });
  expect(parseSubIds(text, ["unknown", "4242"])).toEqual({ first: 300_000, count: 70_000 });
  expect(parseSubIds(text, ["nobody", "65534"])).toBeUndefined();
});
