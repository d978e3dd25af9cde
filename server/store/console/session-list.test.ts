import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import type { SessionId } from "@berth/contract";
import { CONSOLE_PAGE_ROWS } from "@berth/contract/console.ts";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { createPartner } from "../../keys/partners.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import type { Store } from "../open.ts";
import type { Db } from "../schema.ts";
import { sessionRow } from "../testing/session-row.ts";
import { listConsoleSessions, type ConsoleFilter, type ConsoleRow } from "./session-list.ts";

const TOTAL = 10_000;
// Some sessions were created in the same millisecond.
const PER_MILLISECOND = 7;
const idAt = (at: number) => `ses_${String(at).padStart(26, "0")}` as SessionId;

async function insertMany(store: Store): Promise<void> {
  const clock = createTestClock();
  for (const id of ["acme", "beta"]) await createPartner(store.db, clock, id);
  const rows = Array.from({ length: TOTAL }, (_, at) =>
    sessionRow(1_000_000 + Math.floor(at / PER_MILLISECOND), {
      id: idAt(at),
      partner_id: at % 2 === 0 ? "acme" : "beta",
      external_user_id: at % 5000 === 1 ? `Unusual-${at}` : `user-${at}`,
      ...(at % 3 === 0 && { state: "destroyed", destroyed_at: 2_000_000 }),
    }),
  );
  await store.transaction(async (tx) => {
    for (let at = 0; at < TOTAL; at += 500)
      await tx
        .insertInto("sessions")
        .values(rows.slice(at, at + 500))
        .execute();
  });
}

// Counts the queries and the rows that they return.
function counting(db: Db): { db: Db; work: { queries: number; rows: number } } {
  const work = { queries: 0, rows: 0 };
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      work.queries++;
      return node;
    },
    async transformResult({ result }) {
      work.rows += result.rows.length;
      return result;
    },
  };
  return { db: db.withPlugin(plugin), work };
}

onBothEngines("the sessions of the console", (databases) => {
  test("ten thousand of them are read in pages, each once, and every page costs a bounded number of queries and rows", async () => {
    const database = await databases.create();
    await using store = await database.open();
    await insertMany(store);

    async function readAll(filter: Omit<ConsoleFilter, "limit" | "after">): Promise<{ rows: ConsoleRow[]; pages: number }> {
      const rows: ConsoleRow[] = [];
      let after: ConsoleFilter["after"];
      for (let pages = 1; ; pages++) {
        const { db, work } = counting(store.db);
        const page = await listConsoleSessions(db, { ...filter, limit: CONSOLE_PAGE_ROWS, ...(after && { after }) });
        rows.push(...page.rows);
        expect(page.rows.length).toBeLessThanOrEqual(CONSOLE_PAGE_ROWS);
        expect(work.queries).toBeLessThanOrEqual(filter.search ? 4 : 1);
        expect(work.rows).toBeLessThanOrEqual(filter.search ? 2000 : CONSOLE_PAGE_ROWS + 1);
        if (!page.next) return { rows, pages };
        after = page.next;
      }
    }
    const newestFirst = (wanted: (at: number) => boolean) =>
      Array.from({ length: TOTAL }, (_, at) => at)
        .filter(wanted)
        .map(idAt)
        .toReversed();
    const idsOf = async (filter: Omit<ConsoleFilter, "limit" | "after">) => (await readAll(filter)).rows.map(({ id }) => id);

    const all = await readAll({ partnerId: null, status: "all" });
    expect(all.rows.map(({ id }) => id)).toEqual(newestFirst(() => true));
    expect(all.pages).toBe(TOTAL / CONSOLE_PAGE_ROWS);
    expect(await idsOf({ partnerId: null, status: "live" })).toEqual(newestFirst((at) => at % 3 !== 0));
    expect(await idsOf({ partnerId: "beta", status: "destroyed" })).toEqual(newestFirst((at) => at % 6 === 3));
    expect(await idsOf({ partnerId: null, status: "all", search: "unusual" })).toEqual([idAt(5001), idAt(1)]);
    expect(await idsOf({ partnerId: "acme", status: "all", search: "unusual" })).toEqual([]);
    expect(await idsOf({ partnerId: null, status: "all", search: idAt(77) })).toEqual([idAt(77)]);
    expect(await idsOf({ partnerId: "acme", status: "all", search: idAt(77) })).toEqual([]);
  });
});
