import { afterEach, expect, test, vi } from "vitest";
import { randomId } from "./random-id.ts";

afterEach(() => void vi.unstubAllGlobals());

test("ids are random without crypto.randomUUID, which a plain http host does not have", () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const ids = Array.from({ length: 100 }, randomId);
  expect(new Set(ids).size).toBe(100);
  expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
});
