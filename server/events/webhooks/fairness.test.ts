import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../clock.ts";
import { startTestApp, type TestApp } from "../../http/testing/test-app.ts";
import { appendEvent } from "../../store/events.ts";
import { startRawReceiver, startReceiver } from "../testing/receivers.ts";

// One partner misbehaves, and another one must not be affected. The tests check the order of events, not their duration.

const start = Date.now();
let app: TestApp;
let nowMs = start;
const clock: Clock = { now: () => nowMs, every: () => ({ async [Symbol.asyncDispose]() {} }) };
beforeEach(async () => {
  nowMs = start;
  app = await startTestApp({ clock });
});
afterEach(() => app[Symbol.asyncDispose]());

const createHook = async (url: string, key = app.key): Promise<string> => {
  const { status, json } = await app.call("POST", "/api/b2b/webhooks", { body: { url }, key });
  expect(status).toBe(201);
  return (json as { id: string }).id;
};
const happen = (partnerId: string, sessionId: string, n = 0) =>
  app.store.transaction((tx) =>
    appendEvent(tx, { partnerId, sessionId, type: "session.created", at: clock.now(), data: { sessionId, n } }),
  );
// A backlog in which each event belongs to another session.
const happenOften = (partnerId: string, count: number) =>
  sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${count})
      insert into events (id, partner_id, session_id, type, at, data)
      select 'evt_' || ${partnerId} || n, ${partnerId}, 'ses_' || n, 'session.created', ${nowMs}, '{"n":' || n || '}' from counter`.execute(
    app.store.db,
  );
const pendingOf = async (endpointId: string): Promise<number> => {
  const query = app.store.db.selectFrom("webhook_deliveries").where("endpoint_id", "=", endpointId).where("state", "=", "pending");
  return (await query.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow()).count;
};

// Ends the flood without attempting its other deliveries.
const endFlood = async (receiver: { hangUp(): void }) => {
  await app.store.db.updateTable("webhook_endpoints").set({ state: "disabled" }).execute();
  receiver.hangUp();
  await app.webhooks.settled();
};

describe("a partner whose receivers hang", () => {
  test.each([
    { name: "8 receivers of one partner", partners: { hanging: 8 } },
    { name: "50 receivers of three partners", partners: { first: 20, second: 20, third: 10 } },
  ])("delays no other partner: $name", async ({ partners }) => {
    await using hanging = await startRawReceiver(() => {});
    await using healthy = await startReceiver();
    for (const [partnerId, count] of Object.entries(partners)) {
      const key = await app.addPartner(partnerId);
      for (let i = 0; i < count; i++) await createHook(hanging.url, key);
      for (let i = 0; i < 10; i++) await happen(partnerId, `ses_${i}`);
    }
    await app.webhooks.tick();
    await createHook(healthy.url);
    await happen("acme", "ses_a");
    await app.webhooks.tick();
    const arrived = expect.poll(() => healthy.received.length).toBe(1);
    // It did not have to wait for an attempt that hangs.
    expect(await Promise.race([hanging.firstClosed, arrived])).not.toBe("closed");
    await arrived;
    expect(hanging.count()).toBeGreaterThan(0);
    expect(hanging.count()).toBeLessThanOrEqual(Object.keys(partners).length * 8);
    await endFlood(hanging);
  });

  test("still receives the events of its other endpoints", async () => {
    await using hanging = await startRawReceiver(() => {});
    await using healthy = await startReceiver();
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.push(await createHook(hanging.url));
    // All have failed before, so they have one lane each, and one of the partner's eight lanes is left.
    await app.store.db.updateTable("webhook_endpoints").set({ failing_since: nowMs }).where("id", "in", ids).execute();
    for (let i = 0; i < 10; i++) await happen("acme", `ses_${i}`);
    await app.webhooks.tick();
    await createHook(healthy.url);
    await happen("acme", "ses_a");
    await app.webhooks.tick();
    await expect.poll(() => healthy.received.length).toBe(1);
    await expect.poll(() => hanging.open.size).toBe(7);
    await endFlood(hanging);
  });
});

describe("a partner with a long backlog", () => {
  test("of 100,000 events does not delay another partner's event, and has a bounded number of stored deliveries", async () => {
    await using hanging = await startRawReceiver(() => {});
    const key = await app.addPartner("flood");
    const endpointId = await createHook(hanging.url, key);
    const floodAtArrival: number[] = [];
    await using healthy = await startReceiver(async () => {
      floodAtArrival.push(await pendingOf(endpointId));
      return 204;
    });
    await createHook(healthy.url);
    await happenOften("flood", 100_000);
    await happen("acme", "ses_a");
    const ticked = app.webhooks.tick();
    await expect.poll(() => floodAtArrival).toHaveLength(1);
    expect(floodAtArrival[0]).toBeLessThan(5_000);
    await ticked;
    expect(await pendingOf(endpointId)).toBeLessThanOrEqual(5_100);
    await endFlood(hanging);
  });

  test("on many endpoints does not displace another partner's endpoint", async () => {
    await using hanging = await startRawReceiver(() => {});
    await using healthy = await startReceiver();
    for (let p = 0; p < 5; p++) {
      const key = await app.addPartner(`flood${p}`);
      for (let i = 0; i < 20; i++) await createHook(hanging.url, key);
      await happenOften(`flood${p}`, 1_000);
    }
    await createHook(healthy.url);
    await happen("acme", "ses_a");
    const ticked = app.webhooks.tick();
    await expect.poll(() => healthy.received.length).toBe(1);
    await endFlood(hanging);
    await ticked;
  });

  test("can be disabled at any moment while its lanes are started", async () => {
    await using hanging = await startRawReceiver(() => {});
    const id = await createHook(hanging.url);
    await happenOften("acme", 20);
    await app.webhooks.tick();
    hanging.hangUp();
    await app.webhooks.settled();
    const setState = (state: "enabled" | "disabled") =>
      app.store.laterDb.updateTable("webhook_endpoints").set({ state, failing_since: null }).where("id", "=", id).execute();
    for (let steps = 0; steps < 100; steps++) {
      await app.store.laterDb.updateTable("webhook_lanes").set({ next_at: nowMs, attempt: 0 }).execute();
      await setState("enabled");
      const ticked = app.webhooks.tick();
      for (let step = 0; step < steps; step++) await Promise.resolve();
      await setState("disabled");
      await ticked;
      hanging.hangUp();
      await app.webhooks.settled();
    }
  });

  test("receives all of it, in order for each session, when its receiver works again", async () => {
    await using receiver = await startReceiver();
    const endpointId = await createHook(receiver.url);
    await happenOften("acme", 220);
    for (let n = 1000; n < 1030; n++) await happen("acme", "ses_long", n);
    await app.webhooks.tick();
    await expect.poll(() => receiver.received.length, { timeout: 50_000 }).toBe(250);
    await app.webhooks.settled();
    const long = receiver.events().flatMap(({ data }) => (data.n && data.n >= 1000 ? [data.n] : []));
    expect(long).toEqual(Array.from({ length: 30 }, (_, n) => 1000 + n));
    expect(await pendingOf(endpointId)).toBe(0);
  });
});

describe("tests and redeliveries", () => {
  test("are refused while ten tests wait, and accepted when those are sent", async () => {
    await using hanging = await startRawReceiver(() => {});
    const id = await createHook(hanging.url);
    const test = () => app.call("POST", `/api/b2b/webhooks/${id}/test`);
    const responses = await Promise.all(Array.from({ length: 30 }, test));
    expect(responses.filter(({ status }) => status === 202)).toHaveLength(10);
    const refused = responses.find(({ status }) => status !== 202)!;
    expect([refused.status, refused.headers.get("x-error-code"), refused.headers.get("retry-after")]).toEqual([
      429,
      "webhook_queue_full",
      "15",
    ]);
    // A failed test is not retried, so it makes room.
    await expect.poll(() => hanging.open.size).toBeGreaterThan(0);
    const other = await createHook(hanging.url);
    expect((await app.call("POST", `/api/b2b/webhooks/${other}/test`)).status).toBe(202);
    hanging.hangUp();
    await expect.poll(() => pendingOf(id)).toBe(0);
    expect((await test()).status).toBe(202);
    await app.webhooks.settled();
  });

  test("are refused while a hundred redeliveries wait, but tests are accepted", async () => {
    await using failing = await startReceiver(() => 500);
    const id = await createHook(failing.url);
    await happen("acme", "ses_a");
    await app.webhooks.tick();
    await app.webhooks.settled();
    const { json } = await app.call("GET", `/api/b2b/webhooks/${id}/deliveries`);
    const [{ id: deliveryId }] = (json as { data: [{ id: string }] }).data;
    const statuses: number[] = [];
    for (let i = 0; i < 101; i++)
      statuses.push((await app.call("POST", `/api/b2b/webhooks/${id}/deliveries/${deliveryId}/redeliver`)).status);
    expect(statuses).toEqual([...Array<number>(100).fill(202), 429]);
    expect((await app.call("POST", `/api/b2b/webhooks/${id}/test`)).status).toBe(202);
    await app.webhooks.settled();
  });
});
