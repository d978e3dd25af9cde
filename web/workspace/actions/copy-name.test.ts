import { expect, test } from "vitest";
import { copyName } from "./copy-name.ts";

test("a copy is numbered and keeps its extension", () => {
  const taken = new Set(["a.txt", "a copy.txt", ".env"]);
  const free = (name: string) => !taken.has(name);
  expect(copyName("b.txt", free)).toBe("b copy.txt");
  expect(copyName("a.txt", free)).toBe("a copy 2.txt");
  expect(copyName("a copy.txt", free)).toBe("a copy 2.txt");
  expect([copyName(".env", free), copyName("Makefile", free)]).toEqual([".env copy", "Makefile copy"]);
});
