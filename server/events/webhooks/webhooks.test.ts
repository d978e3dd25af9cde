import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, test } from "vitest";
import { DAY, SECOND } from "../../clock.ts";
import { silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { startReceiver } from "../testing/receivers.ts";
import { useTestWebhooks } from "../testing/use-test-webhooks.ts";
import { createWebhooks } from "./webhooks.ts";

const { current, clock, createHook, addEvent, deliver, deliverAfter, deliveries } = useTestWebhooks();

describe("a webhook", () => {
  test("receives only events after its creation, with signatures that standardwebhooks and svix accept", async () => {
    await using receiver = await startReceiver();
    await addEvent("ses_a", 0);
    const { secret } = await createHook(receiver.url);
    await addEvent("ses_a", 1);
    await deliver();
    expect(receiver.events()).toEqual([
      { type: "session.created", timestamp: new Date(clock.now()).toISOString(), data: { sessionId: "ses_a", n: 1 } },
    ]);
    const { body, headers } = receiver.received[0]!;
    const signed = headers as Record<string, string>;
    expect(new Webhook(secret).verify(body, signed)).toMatchObject({ type: "session.created" });
    expect(() => new SvixWebhook(secret).verify(body, signed)).not.toThrow();
    expect(() => new Webhook(secret).verify(`${body} `, signed)).toThrow(/signature/);
    expect(headers["content-type"]).toBe("application/json");
    await deliver();
    expect(receiver.received).toHaveLength(1);
  });

  test("receives only the types that it subscribes to", async () => {
    await using receiver = await startReceiver();
    await createHook(receiver.url, { types: ["session.paused"] });
    await addEvent("ses_a", 1);
    await addEvent("ses_a", 2, "session.paused");
    await deliver();
    expect(receiver.events().map(({ data }) => data.n)).toEqual([2]);
  });

  test("lists its deliveries in the order of their events, newest first, also those that were queued at the same time", async () => {
    await using receiver = await startReceiver();
    const { id } = await createHook(receiver.url);
    for (let n = 0; n < 8; n++) await addEvent("ses_a", n);
    await deliver();
    const { json } = await current.app.call("GET", "/api/b2b/events");
    const events = (json as { data: { id: string }[] }).data.map((event) => event.id);
    expect((await deliveries(id)).data.map(({ eventId }) => eventId)).toEqual(events.toReversed());
  });

  test("is signed with both secrets for a day after a rotation", async () => {
    await using receiver = await startReceiver();
    const { id, secret } = await createHook(receiver.url);
    const { json } = await current.app.call("POST", `/api/b2b/webhooks/${id}/rotate-secret`);
    const { secret: next } = json as { secret: string };
    await addEvent("ses_a", 1);
    await deliver();
    const first = receiver.received[0]!;
    for (const one of [secret, next])
      expect(() => new Webhook(one).verify(first.body, first.headers as Record<string, string>)).not.toThrow();
    current.nowMs += DAY + 1;
    await addEvent("ses_a", 2);
    await deliver();
    expect(receiver.received[1]!.headers["webhook-signature"]).toMatch(/^v1,[\w+/]+=*$/);
  });

  test("can be listed, changed, tested and deleted, and shows its secret only once", async () => {
    await using receiver = await startReceiver();
    const { id, secret } = await createHook(receiver.url, { description: "first" });
    const path = `/api/b2b/webhooks/${id}`;
    const seen = await Promise.all([
      current.app.call("GET", path),
      current.app.call("GET", "/api/b2b/webhooks"),
      current.app.call("PATCH", path, { body: { description: "second" } }),
    ]);
    for (const { status, text } of seen) {
      expect(status).toBe(200);
      expect(text).not.toContain("whsec_");
    }
    const stored = await current.app.store.db.selectFrom("webhook_endpoints").select("secret").executeTakeFirstOrThrow();
    expect(stored.secret).not.toContain(secret.slice(6));

    const test = await current.app.call("POST", `${path}/test`);
    expect(test.status).toBe(202);
    await deliver();
    expect(receiver.events()).toMatchObject([{ type: "webhook.test" }]);
    current.nowMs += 1;
    const [{ id: deliveryId } = { id: "" }] = (await deliveries(id)).data;
    expect((await current.app.call("POST", `${path}/deliveries/${deliveryId}/redeliver`)).status).toBe(202);
    await deliver();
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(
      Array(2).fill(receiver.received[0]!.headers["webhook-id"]),
    );
    const page = await deliveries(id, "?limit=1&state=delivered");
    expect((await deliveries(id, `?limit=1&cursor=${page.nextCursor}`)).data.map((one) => one.id)).toEqual([deliveryId]);

    const other = await current.app.addPartner("globex");
    expect((await current.app.call("GET", path, { key: other })).text).toBe('{"error":"Webhook not found"}');
    expect((await current.app.call("POST", `${path}/deliveries/dlv_nope/redeliver`)).status).toBe(404);
    expect((await current.app.call("DELETE", path)).json).toEqual({ id, deleted: true });
    expect((await current.app.call("DELETE", path)).status).toBe(404);
    await addEvent("ses_a", 1);
    await deliver();
    expect(receiver.received).toHaveLength(2);
  });

  test("is refused when it is invalid, and so is a twenty-first one", async () => {
    const faults = async (body: unknown) => {
      const { status, json } = await current.app.call("POST", "/api/b2b/webhooks", { body });
      return [status, ...new Set(((json as { details?: { field: string }[] }).details ?? []).map(({ field }) => field))];
    };
    for (const url of ["ftp://x.example", "not a url", "https://user:pass@x.example/", ""])
      expect(await faults({ url })).toEqual([400, "url"]);
    expect(await faults({ types: [], description: 5 })).toEqual([400, "url", "types", "description"]);
    expect(await faults({ url: "https://x.example", types: ["session.created", "nonsense"] })).toEqual([400, "types.1"]);
    for (let i = 0; i < 20; i++) await createHook("https://x.example/");
    expect(await faults({ url: "https://x.example/" })).toEqual([409]);
  });
});

describe("two servers", () => {
  test("send every event once, in order", async () => {
    await using receiver = await startReceiver();
    await createHook(receiver.url);
    for (let n = 0; n < 30; n++) await addEvent(`ses_${n % 3}`, n);
    await using other = createWebhooks({
      store: current.app.store,
      secrets: createSecrets([Buffer.alloc(32, 7)]),
      clock,
      log: silentLog,
      owner: "other",
      allowPrivate: true,
    });
    await Promise.all([deliver(), other.tick().then(() => other.settled())]);
    await deliver();
    const seen = receiver.events().map(({ data }) => data.n!);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n));
    for (const lane of [0, 1, 2]) {
      const mine = seen.filter((n) => n % 3 === lane);
      expect(mine).toEqual(mine.toSorted((a, b) => a - b));
    }
  });

  test("take over the lane of a dead server when its lease expires", async () => {
    await using receiver = await startReceiver();
    const { id } = await createHook(receiver.url);
    await addEvent("ses_a", 1);
    await current.app.webhooks.tick();
    await current.app.webhooks.settled();
    await current.app.store.db.updateTable("webhook_deliveries").set({ state: "pending" }).execute();
    await current.app.store.db
      .insertInto("webhook_lanes")
      .values({
        endpoint_id: id,
        lane: "ses_a",
        last_seq: 99,
        attempt: 0,
        next_at: 0,
        lease_owner: "dead",
        lease_until: clock.now() + 30 * SECOND,
      })
      .execute();
    await deliver();
    expect(receiver.received).toHaveLength(1);
    await deliverAfter(31 * SECOND);
    expect(receiver.received).toHaveLength(2);
  });
});

test("many changes in a short time cause few checks", async () => {
  let queries = 0;
  const { store } = current.app;
  const counted = {
    ...store,
    get db() {
      queries++;
      return store.db;
    },
  };
  const secrets = createSecrets([Buffer.alloc(32)]);
  await using webhooks = createWebhooks({ store: counted, secrets, clock, log: silentLog, owner: "counted", allowPrivate: true });
  webhooks.wake("acme");
  await webhooks.settled();
  const one = queries;
  queries = 0;
  const startMs = performance.now();
  for (let change = 0; change < 30; change++) {
    webhooks.wake("acme");
    await sleep(1);
  }
  await webhooks.settled();
  // One in 20 ms, and timers may be a little early.
  expect(queries / one).toBeLessThanOrEqual((performance.now() - startMs) / 18 + 2);
});
