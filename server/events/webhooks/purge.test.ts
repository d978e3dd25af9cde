import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DAY } from "../../clock.ts";
import { startTestApp, type TestApp } from "../../http/testing/test-app.ts";
import { MAX_DELIVERIES_PER_ENDPOINT, purgeOutbox } from "./purge.ts";

let app: TestApp;
beforeEach(async () => {
  app = await startTestApp();
});
afterEach(() => app[Symbol.asyncDispose]());

const createHook = async (): Promise<string> => {
  const { json } = await app.call("POST", "/api/b2b/webhooks", { body: { url: "https://receiver.example/" } });
  return (json as { id: string }).id;
};
const fill = (endpointId: string, count: number, state: "pending" | "delivered", atMs: number) =>
  sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${count})
      insert into webhook_deliveries (id, endpoint_id, lane, seq, event_id, type, payload, state, attempts, created_at, finished_at)
      select 'dlv_' || ${endpointId} || ${state} || ${atMs} || n, ${endpointId}, 'ses_' || n, n, 'evt_' || n, 'session.created', '{}', ${state}, 1,
        ${atMs} + n, case when ${state} = 'delivered' then ${atMs} + n end from counter`.execute(app.store.db);
const stored = async (endpointId: string): Promise<number> => {
  const query = app.store.db.selectFrom("webhook_deliveries").where("endpoint_id", "=", endpointId);
  return (await query.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow()).count;
};

test("everything older than 30 days is deleted, and so are the excess deliveries of an endpoint", async () => {
  const nowMs = Date.now();
  const [busy, quiet] = [await createHook(), await createHook()];
  await fill(busy, 2_500, "delivered", nowMs - 31 * DAY);
  await fill(busy, 50, "pending", nowMs - 31 * DAY);
  await fill(busy, MAX_DELIVERIES_PER_ENDPOINT + 300, "delivered", nowMs - DAY);
  await fill(quiet, 20, "delivered", nowMs - DAY);
  await purgeOutbox(app.store.db, nowMs);
  expect([await stored(busy), await stored(quiet)]).toEqual([MAX_DELIVERIES_PER_ENDPOINT + 50, 20]);
});

test("a deleted webhook disappears at once, and its deliveries with the next purge", async () => {
  const id = await createHook();
  await fill(id, 1_000, "pending", Date.now());
  expect((await app.call("DELETE", `/api/b2b/webhooks/${id}`)).status).toBe(200);
  for (const path of ["", "/deliveries"]) expect((await app.call("GET", `/api/b2b/webhooks/${id}${path}`)).status).toBe(404);
  for (const path of ["/test", "/rotate-secret"]) expect((await app.call("POST", `/api/b2b/webhooks/${id}${path}`)).status).toBe(404);
  expect((await app.call("PATCH", `/api/b2b/webhooks/${id}`, { body: { enabled: true } })).status).toBe(404);
  expect((await app.call("GET", "/api/b2b/webhooks")).json).toEqual({ data: [] });
  await purgeOutbox(app.store.db, Date.now());
  expect(await stored(id)).toBe(0);
  expect(await app.store.db.selectFrom("webhook_endpoints").select("id").execute()).toEqual([]);
});
