import { expect, test } from "vitest";
import { sharedPostgres } from "../../../tests/support/databases/postgres.ts";
import { silentLog } from "../../log.ts";
import { openStore } from "../open.ts";
import { reserveTokens } from "./rate-buckets.ts";

const nowMs = Date.UTC(2030, 0, 1);

test("every token is granted once, even to concurrent servers", async () => {
  await using postgres = await sharedPostgres();
  await using store = await openStore({ url: await postgres.createDatabase(), file: "", log: silentLog });
  const take = (wanted: number, at: number) => reserveTokens(store.db, "key", wanted, 600, at);
  const first = await Promise.all(Array.from({ length: 20 }, () => take(50, nowMs)));
  expect(first.reduce((sum, { granted }) => sum + granted, 0)).toBe(600);
  expect(await take(50, nowMs + 1000)).toEqual({ granted: 10, left: 0 });
  expect(await take(50, nowMs)).toEqual({ granted: 0, left: 0 });
  expect(await take(50, nowMs + 120_000)).toEqual({ granted: 50, left: 550 });
});
