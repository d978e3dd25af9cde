import { sql } from "kysely";
import { expect, test } from "vitest";
import { onBothEngines, type Databases } from "../../tests/support/databases/stores.ts";
import { appendEvent, eventPage, eventsAfter, lastEventSeq } from "./events.ts";
import type { Store } from "./open.ts";
import { LARGE_METADATA } from "./testing/session-row.ts";

const nowMs = Date.UTC(2030, 0, 1);

onBothEngines(
  "events",
  (databases) => {
    test("a page of large events ends early, and the next one continues", async () => {
      await using store = await (await databases.create()).open();
      const event = { partnerId: "globex", sessionId: "ses_large", type: "session.paused" as const, at: nowMs };
      for (let n = 0; n < 60; n++) await appendEvent(store.db, { ...event, data: { n, metadata: LARGE_METADATA } });
      const seen: unknown[] = [];
      let pages = 0;
      for (let seq: number | undefined = 0; seq !== undefined; pages++) {
        const page: Awaited<ReturnType<typeof eventPage>> = await eventPage(store.db, "globex", seq, 100);
        expect(JSON.stringify(page).length).toBeLessThan(1.2 * (1024 * 1024 + 2 * LARGE_METADATA.length));
        seen.push(...page.map(({ data }) => data.n));
        seq = page.at(-1)?.seq;
      }
      expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n));
      expect(pages).toBeGreaterThan(2);
    });

    test("a reader that continues after the last event it saw misses none of 100 concurrent writers", async () => {
      await using store = await (await databases.create()).open();
      const writers = Array.from({ length: 100 }, (_, n) => append(store, n));
      const seen: number[] = [];
      let seq = 0;
      let writing = true;
      const done = Promise.all(writers).finally(() => (writing = false));
      for (let idle = 0; idle < 2;) {
        const events = await eventsAfter(store.db, "acme", seq, 7);
        seen.push(...events.map(({ data }) => data.n as number));
        seq = events.at(-1)?.seq ?? seq;
        if (!writing && events.length === 0) idle++;
        await new Promise((resolve) => setImmediate(resolve));
      }
      await done;
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
      expect(await lastEventSeq(store.db, "acme")).toBe(seq);
    });
  },
  { postgres: testPostgres },
);

function testPostgres(databases: Databases): void {
  test("an uncommitted event holds back later events of its partner, but not those of others", async () => {
    await using store = await (await databases.create()).open();
    const [written, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = append(store, 1000, "acme", () => (written.resolve(), gate.promise));
    await written.promise;
    const fast = append(store, 1001);
    await append(store, 1, "globex");
    await expect.poll(async () => (await sql`select from pg_locks where not granted`.execute(store.db)).rows.length).toBe(1);
    expect(await eventsAfter(store.db, "acme", 0, 10)).toEqual([]);
    gate.resolve();
    await Promise.all([slow, fast]);
    expect((await eventsAfter(store.db, "acme", 0, 10)).map(({ data }) => data.n)).toEqual([1000, 1001]);
  });
}

const append = (store: Store, n: number, partnerId = "acme", beforeCommit?: () => Promise<void>): Promise<void> =>
  store.transaction(async (tx) => {
    await appendEvent(tx, { partnerId, sessionId: "ses_a", type: "session.paused", at: nowMs, data: { n } });
    await beforeCommit?.();
  });
