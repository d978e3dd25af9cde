import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawParts, PARTS_PICTURE } from "./draw-parts.ts";

test("the picture of the parts is current; if not, run `node scripts/structure/draw-parts.ts`", () => {
  const root = join(import.meta.dirname, "../..");
  expect(readFileSync(join(root, PARTS_PICTURE), "utf8")).toBe(drawParts(root));
});
