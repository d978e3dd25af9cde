import { expect, test } from "vitest";
import { PREVIEW_ADDRESS_MESSAGE } from "@berth/contract/workspace/workspace.ts";
import { readAddress } from "./read-address.ts";

const type = PREVIEW_ADDRESS_MESSAGE;

test("the address that a preview reports is a path on its own origin", () => {
  expect(readAddress({ type, path: "/a/b?c=d#e" })).toBe("/a/b?c=d#e");
});

test.each([null, "/", {}, { type }, { type, path: 1 }, { type: "other", path: "/" }, { type, path: "//evil" }, { type, path: "/\\evil" }])(
  "%j is ignored",
  (message) => expect(readAddress(message)).toBeNull(),
);

test.each([`/${"x".repeat(2000)}`, "/with space", "/line\nbreak", "no-slash"])("the address %j is ignored", (path) =>
  expect(readAddress({ type, path })).toBeNull(),
);
