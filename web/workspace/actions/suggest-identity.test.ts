import { expect, test } from "vitest";
import { suggestIdentity } from "./suggest-identity.ts";

test("the author of a commit begins with the known name, and has its email address if that is the name", () => {
  expect(suggestIdentity("Ada Lovelace ")).toBe("Ada Lovelace <>");
  expect(suggestIdentity("ada@example.com")).toBe("ada <ada@example.com>");
  expect(suggestIdentity("Ada Lovelace <ada@example.com>")).toBe("Ada Lovelace <ada@example.com>");
  expect([suggestIdentity(null), suggestIdentity(undefined), suggestIdentity("<b>")]).toEqual(["", "", "b <>"]);
});
