import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AppError, ERRORS, type ErrorCode } from "./errors.ts";

test("docs/errors.md describes every error with its status, and no others", () => {
  const page = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \| (.+) \|$/gm)];
  const described = Object.fromEntries(
    rows.map(([, code, status, again]) => [code!, { status: Number(status), retryable: again === "yes" }]),
  );
  const expected = Object.fromEntries(Object.entries(ERRORS).map(([code, { status, retryable }]) => [code, { status, retryable }]));
  expect(described).toEqual(expected);
  expect(rows.every(([, , , , sentence]) => /^[A-Z].*\.$/.test(sentence!))).toBe(true);
});

test("docs/troubleshooting.md names every error once, with the way out, and no others", () => {
  const page = readFileSync(new URL("../docs/troubleshooting.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| ((?:`\w+` )+)\| (.+) \|$/gm)];
  const named = rows.flatMap(([, codes]) => [...codes!.matchAll(/`(\w+)`/g)].map(([, code]) => code!));
  expect(named.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
});

test("every 429, 503 and 504 has a Retry-After", () => {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => [429, 503, 504].includes(ERRORS[code].status));
  expect(codes).toContain("sandbox_timeout");
  expect(codes.filter((code) => !(new AppError(code).retryAfterSeconds! > 0))).toEqual([]);
  expect(new AppError("capacity_reached", { retryAfterSeconds: 3 }).retryAfterSeconds).toBe(3);
});
