import { expect, test } from "vitest";
import { accentFor, contrast } from "./accent.ts";

test.each(["#7c3aed", "#ffee00", "#000000", "#ffffff", "#00ff7f", "#808080"])(
  "%s can be read on every background of both themes",
  (colour) => {
    for (const background of ["#ffffff", "#f6f7f9", "#dfe8fb"] as const) {
      const { accent, accentText } = accentFor(colour, "light");
      expect(contrast(accent, background)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(accent, accentText)).toBeGreaterThanOrEqual(4.5);
    }
    for (const background of ["#14171c", "#22272f", "#24344f"] as const) {
      const { accent, accentText } = accentFor(colour, "dark");
      expect(contrast(accent, background)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(accent, accentText)).toBeGreaterThanOrEqual(4.5);
    }
  },
);

test("a colour with enough contrast is used as it is", () => {
  expect(accentFor("#7c3aed", "light").accent).toBe("#7c3aed");
});
