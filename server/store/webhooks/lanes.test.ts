import { CompiledQuery, sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import type { Store } from "../open.ts";
import { insertPartner } from "../store.suite.ts";
import { endpointRow } from "../testing/endpoint-row.ts";
import { firstDueLanes, readBacklog } from "./backlog.ts";
import { countPending, enqueue, headOfLane, trimDeliveries, type DeliveryRow } from "./deliveries.ts";
import { insertEndpoint } from "./endpoints.ts";
import { claimDueLane, dueEndpoints, dueLanes } from "./lanes.ts";

const nowMs = Date.UTC(2030, 0, 1);
const LANES = 100_000;

onBothEngines("webhook lanes", (databases) => {
  let store: Store;
  beforeAll(async () => {
    const database = await databases.create();
    store = await database.open();
    for (const partner of ["acme", "flood"]) await insertPartner(store, partner);
    await insertEndpoint(store.db, endpointRow("whk_a", "acme", nowMs));
    await insertEndpoint(store.db, endpointRow("whk_b", "flood", nowMs));
    await insertEndpoint(store.db, endpointRow("whk_c", "acme", nowMs));
    await insertEndpoint(store.db, { ...endpointRow("whk_d", "acme", nowMs), state: "disabled" });
    // `flood` has 100,000 lanes, all due before the lanes of others.
    await sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${LANES})
      insert into webhook_lanes (endpoint_id, lane, last_seq, attempt, next_at, lease_until)
      select 'whk_b', 'ses_' || n, n, 0, 0, 0 from counter`.execute(store.db);
    await enqueue(store.db, [delivery("whk_a", 1), delivery("whk_c", 2), delivery("whk_d", 3)], nowMs);
    await sql`analyze`.execute(store.db);
  });
  afterAll(() => store[Symbol.asyncDispose]());

  test("finds every enabled endpoint with a due lane, and each lane is claimed once", async () => {
    const found = await dueEndpoints(store.db, nowMs).execute();
    expect(found.map(({ id, partner_id }) => `${partner_id} ${id}`)).toEqual(["acme whk_a", "flood whk_b", "acme whk_c"]);
    const claim = (owner: string) => claimDueLane(store.db, "whk_a", { owner, nowMs, untilMs: nowMs + 1000 });
    const claims = await Promise.all([claim("one"), claim("two")]);
    expect(claims.filter(Boolean)).toMatchObject([{ endpoint_id: "whk_a", lane: "ses_1" }]);
    expect((await dueEndpoints(store.db, nowMs).execute()).map(({ id }) => id)).toEqual(["whk_b", "whk_c"]);
    expect((await dueEndpoints(store.db, nowMs + 1000).execute()).map(({ id }) => id)).toEqual(["whk_a", "whk_b", "whk_c"]);
  });

  test("the backlog counts pending deliveries of enabled endpoints, and knows since when the first one is due", async () => {
    const endpoints = { healthy: 3, failing: 0, disabled: 1 };
    // The lanes of `flood` have been due since 0 and have no deliveries.
    expect(await readBacklog(store.db, nowMs)).toEqual({ pending: 2, dueSinceMs: 0, endpoints });
    await store.db.updateTable("webhook_endpoints").set({ failing_since: 1, state: "disabled" }).where("id", "=", "whk_b").execute();
    await store.db.updateTable("webhook_endpoints").set({ failing_since: 1 }).where("id", "=", "whk_c").execute();
    const failing = { healthy: 1, failing: 1, disabled: 2 };
    expect(await readBacklog(store.db, nowMs)).toEqual({ pending: 2, dueSinceMs: nowMs, endpoints: failing });
    expect(await readBacklog(store.db, nowMs - 1)).toEqual({ pending: 2, dueSinceMs: null, endpoints: failing });
    await store.db.updateTable("webhook_endpoints").set({ failing_since: null, state: "enabled" }).where("id", "!=", "whk_d").execute();
  });

  test("a lane of a disabled endpoint is not claimed", async () => {
    expect(await dueLanes(store.db, "whk_d", nowMs).execute()).toHaveLength(1);
    expect(await claimDueLane(store.db, "whk_d", { owner: "one", nowMs, untilMs: nowMs + 1000 })).toBeUndefined();
  });

  test("searching for due lanes reads a few rows of a partner's 100,000", async () => {
    for (const query of [dueEndpoints(store.db, nowMs), dueLanes(store.db, "whk_b", nowMs), firstDueLanes(store.db, nowMs)]) {
      const plan = await explain(store, query.compile());
      if (store.engine === "sqlite") expect(plan.filter((line) => /^SCAN webhook_(lanes|deliveries)/.test(line))).toEqual([]);
      else expect(Math.max(...plan.map(rowsRead))).toBeLessThan(100);
    }
  });

  test("deliveries that are added to a lane together keep their order", async () => {
    await enqueue(store.db, [delivery("whk_c", 10, "ses_long"), delivery("whk_c", 11, "ses_long")], nowMs);
    const lane = await store.db.selectFrom("webhook_lanes").selectAll().where("lane", "=", "ses_long").executeTakeFirstOrThrow();
    expect(lane.last_seq).toBe(11);
    expect((await headOfLane(store.db, lane))?.seq).toBe(10);
    expect(await countPending(store.db, "whk_c", 2)).toBe(2);
    expect(await countPending(store.db, "whk_c", 100)).toBe(3);
  });

  test("trimming keeps an endpoint's newest deliveries and all pending ones", async () => {
    const made = Array.from({ length: 30 }, (_, n) => delivery("whk_t", n, `ses_${n}`));
    // Many have the same millisecond, so the id decides.
    await enqueue(
      store.db,
      made.map((row, n) => ({
        ...row,
        created_at: nowMs + Math.floor(n / 10),
        state: n === 3 ? ("pending" as const) : ("delivered" as const),
      })),
      nowMs,
    );
    while ((await trimDeliveries(store.db, "whk_t", 15, 4)) > 0);
    const left = await store.db.selectFrom("webhook_deliveries").select("seq").where("endpoint_id", "=", "whk_t").orderBy("seq").execute();
    expect(left.map(({ seq }) => seq)).toEqual([3, ...Array.from({ length: 15 }, (_, n) => 15 + n)]);
  });
});

async function explain({ db, engine }: Store, { sql: text, parameters }: CompiledQuery): Promise<string[]> {
  const how = engine === "sqlite" ? "explain query plan" : "explain (analyze)";
  const { rows } = await db.executeQuery(CompiledQuery.raw(`${how} ${text}`, [...parameters]));
  return rows.map((row) => String(Object.values(row as object).at(-1)));
}

// The rows that a node of PostgreSQL's plan returned or filtered out, over all its loops.
function rowsRead(line: string): number {
  const [, rows = "0", loops = "1"] = /actual time=\S+ rows=([\d.]+) loops=(\d+)/.exec(line) ?? [];
  const [, removed = "0"] = /Rows Removed by \w+: (\d+)/.exec(line) ?? [];
  return Number(rows) * Number(loops) + Number(removed);
}

const delivery = (endpointId: string, seq: number, lane = `ses_${seq}`): DeliveryRow => ({
  id: `dlv_${endpointId}_${String(seq).padStart(3, "0")}`,
  endpoint_id: endpointId,
  lane,
  seq,
  event_id: `evt_${seq}`,
  type: "session.created",
  payload: "{}",
  state: "pending",
  attempts: 0,
  last_status: null,
  last_error: null,
  created_at: nowMs,
  finished_at: null,
});
