import { expect, test } from "vitest";
import { coversPath, isPathPattern, matchesPath } from "./egress-paths.ts";

test("a pattern is a plain path with an optional * at its end", () => {
  expect(["/", "/*", "/v1/*", "/v1*", "/a.b/c-d_e", "/.well-known/x"].filter((pattern) => !isPathPattern(pattern))).toEqual([]);
  const others = ["", "v1", "*", "/a/../b", "/a/..", "/a/..*", "/a//b", "/*/b", "/a**", "/a?b", "/a#b", "/a%20b", "/ä", "/a b", "/..;/a"];
  expect(others.filter(isPathPattern)).toEqual([]);
});

test("a pattern matches and covers the paths that begin like it", () => {
  expect(["/v1/", "/v1/a/b", "/v1/a%2Fb", "/v1//a"].every((path) => matchesPath("/v1/*", path))).toBe(true);
  expect(["/v1", "/V1/a", "/v10/a", "/", "//v1/a", "/%761/a"].some((path) => matchesPath("/v1/*", path))).toBe(false);
  expect([matchesPath("/v1", "/v1"), matchesPath("/v1", "/v1/")]).toEqual([true, false]);
  expect([coversPath("/v1/*", "/v1/a/*"), coversPath("/v1/*", "/v1/a"), coversPath("/v1/a", "/v1/a")]).toEqual([true, true, true]);
  expect([coversPath("/v1/a", "/v1/a*"), coversPath("/v1/a*", "/v1/*")]).toEqual([false, false]);
});

test.each(["/v1/..;/a", "/v1/%2e%2e%2fa", "/v1/..%5ca", "/v1/%252e%252e/a", "/v1/%00", "/v1/%0d%0a", "/v1/%c0%ae%c0%ae/a", "/v1/%zz"])(
  "%s, which some servers read differently, matches no pattern",
  (path) => {
    expect(matchesPath("/v1/*", path)).toBe(false);
  },
);
