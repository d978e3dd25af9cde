import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedPostgres, type TestPostgres } from "../../tests/support/databases/postgres.ts";
import { DAY, MINUTE } from "../clock.ts";
import { silentLog } from "../log.ts";
import { openStore } from "../store/open.ts";
import { createTestClock } from "../testing/test-clock.ts";
import { openServerDirectory } from "./server-directory.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

test("a server learns the base URL of a new server at once, a changed one within a minute, and forgets an absent server after 30 days", async () => {
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openStore({ url: await postgres.createDatabase(), file: "", log: silentLog }));
  const clock = createTestClock();
  const open = (host: string | null, baseUrl: string) => openServerDirectory({ store, host, baseUrl, clock, log: silentLog });
  const first = opened.use(await open("one", "https://one.example"));
  const second = await open("two", "https://two.example");
  const urlOf = async (host: string | null) => {
    await first.learn([{ host }]);
    return first.baseUrlOf({ host });
  };
  expect([await urlOf("two"), await urlOf("one"), await urlOf(null), await urlOf("three")]).toEqual([
    "https://two.example",
    "https://one.example",
    "https://one.example",
    "https://one.example",
  ]);
  expect(await first.elsewhere({ host: "two" })).toMatchObject({ status: 421, message: expect.stringContaining("https://two.example") });
  expect((await first.elsewhere({ host: "three" })).message).not.toContain("https://");

  await second[Symbol.asyncDispose]();
  const renamed = await open("two", "https://renamed.example");
  await clock.advance(MINUTE);
  expect(await urlOf("two")).toBe("https://renamed.example");
  await renamed[Symbol.asyncDispose]();

  // The row is changed directly, because a clock that is advanced by 30 days would renew 43,200 times.
  const later = createTestClock(clock.now() + 31 * DAY);
  const successor = opened.use(
    await openServerDirectory({ store, host: "one", baseUrl: "https://one.example", clock: later, log: silentLog }),
  );
  await successor.learn([{ host: "two" }]);
  expect(successor.baseUrlOf({ host: "two" })).toBe("https://one.example");
});
