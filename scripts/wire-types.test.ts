import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generateWireTypes, WIRE_FILE } from "./wire-types.ts";

test("the client's wire types are current; if not, run `node scripts/wire-types.ts`", async () => {
  expect(readFileSync(WIRE_FILE, "utf8")).toBe(await generateWireTypes());
});
