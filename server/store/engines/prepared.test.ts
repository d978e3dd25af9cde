import { sql, type Compilable, type Insertable } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import type { Store } from "../open.ts";
import type { Db, EventsTable } from "../schema.ts";
import type { UsageCountersTable } from "../tables/usage-tables.ts";
import { insertPartner } from "../store.suite.ts";
import { prepare } from "./prepared.ts";

onBothEngines("a prepared query", (databases) => {
  let store: Store;
  beforeAll(async () => {
    store = await (await databases.create()).open();
    await insertPartner(store, "acme");
  });
  afterAll(() => store[Symbol.asyncDispose]());

  test("is built once for each database, and binds the parameters of each call", async () => {
    const { find, built } = count((db, { id }: { id: string }) => db.selectFrom("partners").select("name").where("id", "=", id));
    expect(await find(store.db, { id: "absent" })).toEqual([]);
    expect(await find(store.db, { id: "acme" })).toHaveLength(1);
    expect(await store.transaction((tx) => find(tx, { id: "acme" }))).toHaveLength(1);
    expect(await find(store.laterDb, { id: "acme" })).toHaveLength(1);
    expect(built()).toBe(1);
    await using other = await (await databases.create()).open();
    expect(await find(other.db, { id: "acme" })).toEqual([]);
    expect(built()).toBe(2);
  });

  test("returns the rows that the same query returns when it is built for the call", async () => {
    const insertEvent = (db: Db, row: Event) => db.insertInto("events").values(row).returningAll();
    const insert = prepare(insertEvent);
    const rows = [
      event("evt_1", { at: 1_893_456_000_123, data: JSON.stringify({ text: `"quoted" ünïcode \u2028`, none: null, yes: true }) }),
      event("evt_2", { at: 0, data: "" }),
      event("evt_3", { at: Number.MAX_SAFE_INTEGER, data: "null" }),
    ];
    for (const row of rows) {
      const [{ seq: _, ...prepared }] = (await insert(store.db, row)) as [Event];
      const { seq: __, ...plain } = await insertEvent(store.db, { ...row, id: `${row.id}b` }).executeTakeFirstOrThrow();
      expect({ ...prepared, id: `${row.id}b` }).toEqual(plain);
      expect(prepared).toEqual(row);
    }
  });

  test("keeps the type of a parameter whatever was bound at the first call", async () => {
    const write = prepare((db, row: Insertable<UsageCountersTable>) => db.insertInto("usage_counters").values(row).returningAll());
    for (const [index, cpu_ms] of [1, 2 ** 40, 0, -5].entries()) {
      const row = { session_id: `ses_${index}`, cpu_ms, sampled_at: cpu_ms };
      expect(await write(store.db, row)).toEqual([row]);
    }
    const numbers = prepare((db, { value }: { value: number }) =>
      db.selectFrom("partners").select(sql<number>`cast(${value} as double precision) / 2`.as("half")),
    );
    for (const value of [1, 0.5, 3]) expect(await numbers(store.db, { value })).toEqual([{ half: value / 2 }]);
  });

  test("compares with null and with a value, and leaves out what is undefined", async () => {
    const { find, built } = count((db, { where }: { where: { id: string; max_sessions?: number | null } }) =>
      db
        .selectFrom("partners")
        .select("id")
        .where(({ and }) => and(where)),
    );
    expect(await find(store.db, { where: { id: "acme", max_sessions: null } })).toEqual([{ id: "acme" }]);
    expect(await find(store.db, { where: { id: "acme", max_sessions: 5 } })).toEqual([]);
    expect(await find(store.db, { where: { id: "acme" } })).toEqual([{ id: "acme" }]);
    expect(await find(store.db, { where: { id: "acme", max_sessions: null } })).toEqual([{ id: "acme" }]);
    expect(built()).toBe(3);
  });

  test("writes the columns that each call names", async () => {
    const change = prepare((db, { id, columns }: { id: string; columns: { name?: string; max_sessions?: number | null } }) =>
      db.updateTable("partners").set(columns).where("id", "=", id).returning(["name", "max_sessions"]),
    );
    const calls = [{ name: "First" }, { max_sessions: 3 }, { name: "Second", max_sessions: null }, { name: "Third" }];
    const seen: unknown[] = [];
    for (const columns of calls) seen.push(...(await change(store.db, { id: "acme", columns })));
    expect(seen).toEqual([
      { name: "First", max_sessions: null },
      { name: "First", max_sessions: 3 },
      { name: "Second", max_sessions: null },
      { name: "Third", max_sessions: null },
    ]);
  });

  test("may depend on a flag", async () => {
    const find = prepare((db, { isNamed }: { isNamed: boolean }) =>
      isNamed
        ? db.selectFrom("partners").select("id").where("id", "=", "acme")
        : db.selectFrom("partners").select("id").where("id", "=", ""),
    );
    expect([await find(store.db, { isNamed: true }), await find(store.db, { isNamed: false })]).toEqual([[{ id: "acme" }], []]);
  });

  test("is refused if its text depends on the value of a parameter", async () => {
    const list = prepare((db, { ids }: { ids: string[] }) => db.selectFrom("partners").select("id").where("id", "in", ids));
    await expect(list(store.db, { ids: ["acme"] })).rejects.toThrow("cannot bind the parameter ids");
    for (const look of [JSON.stringify, String, (id: string) => id + "x"]) {
      const find = prepare((db, { id }: { id: string }) => db.selectFrom("partners").select("id").where("id", "=", look(id)));
      await expect(find(store.db, { id: "acme" })).rejects.toThrow("looks at the value of id");
    }
  });
});

type Event = Insertable<EventsTable>;

const event = (id: string, values: { at: number; data: string }): Event => ({
  id,
  partner_id: "acme",
  session_id: "ses_1",
  type: "session.created",
  ...values,
});

// Prepares a query and counts how often it is built.
function count<Parameters extends object, Row>(build: (db: Db, parameters: Parameters) => Compilable<Row>) {
  let built = 0;
  const find = prepare<Parameters, Row>((db, parameters) => {
    built++;
    return build(db, parameters);
  });
  return { find, built: () => built };
}
