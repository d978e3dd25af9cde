import { expect, test } from "vitest";
import { chooseVersion } from "./engine.ts";

test("the API version is the newest that both sides support", () => {
  expect(chooseVersion("1.41", "1.12")).toBe("1.41");
  expect(chooseVersion("1.99", "1.24")).toBe("1.51");
  expect(chooseVersion("1.99", "1.60")).toBe("1.60");
});
