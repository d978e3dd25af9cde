import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DAY, HOUR, MINUTE, SECOND, type Clock } from "../../clock.ts";
import { silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { startTestApp, type TestApp } from "../../http/testing/test-app.ts";
import { appendEvent } from "../../store/events.ts";
import { sendMessage } from "./send.ts";
import { startReceiver } from "../testing/receivers.ts";
import { createWebhooks } from "./webhooks.ts";

const start = Date.now();
let app: TestApp;
let nowMs = start;
// Stands still, and starts nothing by itself: a lease must not run out while a real receiver takes its real time.
const clock: Clock = { now: () => nowMs, every: () => ({ async [Symbol.asyncDispose]() {} }) };
beforeEach(async () => {
  nowMs = start;
  app = await startTestApp({ clock });
});
afterEach(() => app[Symbol.asyncDispose]());

interface Created {
  id: string;
  secret: string;
}
const createHook = async (url: string, more: object = {}): Promise<Created> => {
  const { status, json } = await app.call("POST", "/api/b2b/webhooks", { body: { url, ...more } });
  expect(status).toBe(201);
  return json;
};
const happen = (sessionId: string, n: number, type: "session.created" | "session.paused" = "session.created") =>
  app.store.transaction((tx) => appendEvent(tx, { partnerId: "acme", sessionId, type, at: clock.now(), data: { sessionId, n } }));
const deliver = async () => {
  await app.webhooks.tick();
  await app.webhooks.settled();
};
const later = async (ms: number) => {
  nowMs += ms;
  await deliver();
};
const deliveries = async (id: string, query = "") => {
  const { json } = await app.call("GET", `/api/b2b/webhooks/${id}/deliveries${query}`);
  return json as {
    data: { id: string; state: string; attempts: number; lastStatus: number | null; lastError: string | null; type: string }[];
    nextCursor: string | null;
  };
};

describe("a webhook", () => {
  it("gets events that standardwebhooks and svix accept, and only those after it was made", async () => {
    await using receiver = await startReceiver();
    await happen("ses_a", 0);
    const { secret } = await createHook(receiver.url);
    await happen("ses_a", 1);
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

  it("gets only the types that it asked for", async () => {
    await using receiver = await startReceiver();
    await createHook(receiver.url, { types: ["session.paused"] });
    await happen("ses_a", 1);
    await happen("ses_a", 2, "session.paused");
    await deliver();
    expect(receiver.events().map(({ data }) => data.n)).toEqual([2]);
  });

  it("is signed with both secrets for a day after a rotation", async () => {
    await using receiver = await startReceiver();
    const { id, secret } = await createHook(receiver.url);
    const { json } = await app.call("POST", `/api/b2b/webhooks/${id}/rotate-secret`);
    const { secret: next } = json as { secret: string };
    await happen("ses_a", 1);
    await deliver();
    const first = receiver.received[0]!;
    for (const one of [secret, next])
      expect(() => new Webhook(one).verify(first.body, first.headers as Record<string, string>)).not.toThrow();
    nowMs += DAY + 1;
    await happen("ses_a", 2);
    await deliver();
    expect(receiver.received[1]!.headers["webhook-signature"]).toMatch(/^v1,[\w+/]+=*$/);
  });

  it("can be listed, changed, tested and deleted, and never shows its secret again", async () => {
    await using receiver = await startReceiver();
    const { id, secret } = await createHook(receiver.url, { description: "first" });
    const path = `/api/b2b/webhooks/${id}`;
    const seen = await Promise.all([
      app.call("GET", path),
      app.call("GET", "/api/b2b/webhooks"),
      app.call("PATCH", path, { body: { description: "second" } }),
    ]);
    for (const { status, text } of seen) {
      expect(status).toBe(200);
      expect(text).not.toContain("whsec_");
    }
    const stored = await app.store.db.selectFrom("webhook_endpoints").select("secret").executeTakeFirstOrThrow();
    expect(stored.secret).not.toContain(secret.slice(6));

    const test = await app.call("POST", `${path}/test`);
    expect(test.status).toBe(202);
    await deliver();
    expect(receiver.events()).toMatchObject([{ type: "webhook.test" }]);
    nowMs += 1;
    const [{ id: deliveryId } = { id: "" }] = (await deliveries(id)).data;
    expect((await app.call("POST", `${path}/deliveries/${deliveryId}/redeliver`)).status).toBe(202);
    await deliver();
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(
      Array(2).fill(receiver.received[0]!.headers["webhook-id"]),
    );
    const page = await deliveries(id, "?limit=1&state=delivered");
    expect((await deliveries(id, `?limit=1&cursor=${page.nextCursor}`)).data.map((one) => one.id)).toEqual([deliveryId]);

    const other = await app.addPartner("globex");
    expect((await app.call("GET", path, { key: other })).text).toBe('{"error":"Webhook not found"}');
    expect((await app.call("POST", `${path}/deliveries/dlv_nope/redeliver`)).status).toBe(404);
    expect((await app.call("DELETE", path)).json).toEqual({ id, deleted: true });
    expect((await app.call("DELETE", path)).status).toBe(404);
    await happen("ses_a", 1);
    await deliver();
    expect(receiver.received).toHaveLength(2);
  });

  it("with a fault is refused, and so is the twenty-first", async () => {
    const faults = async (body: unknown) => {
      const { status, json } = await app.call("POST", "/api/b2b/webhooks", { body });
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

describe("a receiver that fails", () => {
  it("for a while gets every event afterwards, in order for each session", async () => {
    let healthy = false;
    await using receiver = await startReceiver(() => (healthy ? 200 : 500));
    const { id } = await createHook(receiver.url);
    for (let n = 0; n < 10; n++) await happen(`ses_${n % 2}`, n);
    await deliver();
    await later(6 * SECOND);
    await later(6 * MINUTE);
    // Only the head of each session's lane is tried.
    expect(new Set(receiver.events().map(({ data }) => data.n))).toEqual(new Set([0, 1]));
    expect((await deliveries(id, "?state=pending")).data).toHaveLength(10);
    healthy = true;
    receiver.received.length = 0;
    await later(40 * MINUTE);
    await deliver();
    const perSession = Map.groupBy(receiver.events(), ({ data }) => data.sessionId);
    expect(perSession.get("ses_0")!.map(({ data }) => data.n)).toEqual([0, 2, 4, 6, 8]);
    expect(perSession.get("ses_1")!.map(({ data }) => data.n)).toEqual([1, 3, 5, 7, 9]);
    expect((await deliveries(id, "?state=pending")).data).toEqual([]);
  });

  it("is tried ten times over three days, and then the next event has its turn", async () => {
    await using receiver = await startReceiver(({ body }) => (body.includes('"n":1') ? 500 : 200));
    const { id } = await createHook(receiver.url);
    await happen("ses_a", 1);
    await happen("ses_a", 2);
    await deliver();
    for (const wait of [6 * SECOND, 6 * MINUTE, 36 * MINUTE, 2.4 * HOUR, 6 * HOUR, 12 * HOUR, 17 * HOUR, 24 * HOUR, 29 * HOUR])
      await later(wait);
    expect(receiver.events().map(({ data }) => data.n)).toEqual([...Array(10).fill(1), 2]);
    const failed = (await deliveries(id, "?state=failed")).data;
    expect(failed).toMatchObject([{ attempts: 10, lastStatus: 500, lastError: "The receiver answered 500" }]);
  });

  it("for five days is disabled, and gets what it missed when it is enabled again", async () => {
    let healthy = false;
    await using receiver = await startReceiver(() => (healthy ? 200 : 503));
    const { id } = await createHook(receiver.url);
    for (let day = 0; day <= 6; day++) {
      await happen(`ses_${day}`, day);
      await deliver();
      await later(DAY);
    }
    const path = `/api/b2b/webhooks/${id}`;
    expect((await app.call("GET", path)).json).toMatchObject({ enabled: false, disabledReason: "failing" });
    healthy = true;
    receiver.received.length = 0;
    await happen("ses_x", 100);
    await deliver();
    expect(receiver.received).toEqual([]);
    expect((await app.call("PATCH", path, { body: { enabled: true } })).json).toMatchObject({ enabled: true, disabledReason: null });
    await deliver();
    await deliver();
    expect(new Set(receiver.events().map(({ data }) => data.n))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 100]));
  });

  it("with 410 is disabled at once, and a redirect is a failure", async () => {
    await using gone = await startReceiver(() => 410);
    await using moved = await startReceiver(() => 302);
    const [first, second] = [await createHook(gone.url), await createHook(moved.url)];
    await happen("ses_a", 1);
    await deliver();
    expect((await app.call("GET", `/api/b2b/webhooks/${first.id}`)).json).toMatchObject({ enabled: false, disabledReason: "gone" });
    expect((await deliveries(second.id)).data).toMatchObject([{ state: "pending", attempts: 1, lastStatus: 302 }]);
    expect(moved.received).toHaveLength(1);
  });

  it("by hanging holds up nobody else", async () => {
    const never = Promise.withResolvers<number>();
    await using hanging = await startReceiver(() => never.promise);
    await using other = await startReceiver();
    await createHook(hanging.url);
    await createHook(other.url);
    for (let n = 0; n < 60; n++) await happen(`ses_${n}`, n);
    await app.webhooks.tick();
    await expect.poll(() => other.received).toHaveLength(60);
    expect(hanging.received.length).toBeLessThanOrEqual(4);
    never.resolve(204);
    // An attempt lasts 15 s at most: should the machine have been slower, it is made again when it is time.
    const reached = async () => {
      await later(6 * MINUTE);
      return new Set(hanging.received.map(({ headers }) => headers["webhook-id"])).size;
    };
    await expect.poll(reached).toBe(60);
  });

  it("by not being there is told so in the log", async () => {
    const { id } = await createHook("http://127.0.0.1:1/");
    await happen("ses_a", 1);
    await deliver();
    expect((await deliveries(id)).data).toMatchObject([{ lastStatus: null, lastError: "The connection failed: ECONNREFUSED" }]);
  });
});

describe("two servers", () => {
  it("send every event once between them, in order", async () => {
    await using receiver = await startReceiver();
    await createHook(receiver.url);
    for (let n = 0; n < 30; n++) await happen(`ses_${n % 3}`, n);
    await using other = createWebhooks({
      store: app.store,
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

  it("take over from one that died in the middle, after its lease", async () => {
    await using receiver = await startReceiver();
    const { id } = await createHook(receiver.url);
    await happen("ses_a", 1);
    await app.webhooks.tick();
    await app.webhooks.settled();
    await app.store.db.updateTable("webhook_deliveries").set({ state: "pending" }).execute();
    await app.store.db
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
    await later(31 * SECOND);
    expect(receiver.received).toHaveLength(2);
  });
});

describe("addresses that are not on the public Internet", () => {
  it("are refused after the name is resolved, unless the operator allows them", async () => {
    await using receiver = await startReceiver();
    const { port } = new URL(receiver.url);
    const send = (url: string, allowPrivate: boolean) =>
      sendMessage({ url, headers: {}, body: "{}" }, allowPrivate, AbortSignal.timeout(30_000));
    for (const host of [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0x7f000001",
      "2130706433",
      "10.0.0.1",
      "169.254.169.254",
    ]) {
      expect(await send(`http://${host}:${port}/`, false)).toEqual({
        ok: false,
        status: null,
        error: "The address is not on the public Internet",
      });
    }
    expect(receiver.received).toEqual([]);
    expect(await send(`http://localhost:${port}/`, true)).toEqual({ ok: true, status: 204 });
  });

  it("a receiver that never answers costs one attempt's time and no more", async () => {
    const never = Promise.withResolvers<number>();
    const late = new AbortController();
    await using receiver = await startReceiver(() => {
      late.abort();
      return never.promise;
    });
    const outcome = await sendMessage({ url: receiver.url, headers: {}, body: "{}" }, true, late.signal);
    expect(outcome).toEqual({ ok: false, status: null, error: "No answer within 15 seconds" });
    never.resolve(200);
  });
});
