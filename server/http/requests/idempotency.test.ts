import { connect } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HOUR, MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { claimKey } from "../../store/idempotency.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
const clock = createTestClock();
beforeAll(async () => {
  app = await startTestApp({ clock });
});
afterAll(() => app[Symbol.asyncDispose]());

const create = (key: string, body: unknown = { externalUserId: "u" }, partnerKey?: string) =>
  app.call("POST", "/api/b2b/sessions", { body, headers: { "idempotency-key": key }, ...(partnerKey && { key: partnerKey }) });
const count = async (of: TestApp = app) => (await of.sessions.list("acme", { limit: 1000 })).sessions.length;

describe("a POST with an Idempotency-Key", () => {
  test("runs once, and a retry gets the same bytes", async () => {
    const before = await count();
    const first = await create("a");
    const second = await create("a");
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(await count()).toBe(before + 1);
  });

  test("conflicts with another body, and is separate for each partner and path", async () => {
    const first = await create("b");
    const other = await create("b", { externalUserId: "someone else" });
    expect([other.status, other.headers.get("x-error-code")]).toEqual([422, "idempotency_mismatch"]);
    expect((await create("b", { externalUserId: "u" }, await app.addPartner("initech"))).status).toBe(201);
    const { sessionId } = first.json as { sessionId: string };
    const pause = () => app.call("POST", `/api/b2b/sessions/${sessionId}/pause`, { headers: { "idempotency-key": "b" } });
    expect((await pause()).text).toBe('{"status":"paused"}');
    const again = await pause();
    expect([again.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([200, '{"status":"paused"}', "true"]);
  });

  test("that failed may be retried with the same key", async () => {
    expect((await create("c", { externalUserId: "" })).status).toBe(400);
    expect((await create("c", { externalUserId: "u" })).status).toBe(201);
  });

  test("expires after a day", async () => {
    const first = await create("d");
    await clock.advance(23 * HOUR);
    expect((await create("d")).text).toBe(first.text);
    await clock.advance(HOUR + 1);
    const later = await create("d", { externalUserId: "another body" });
    expect([later.status, later.headers.get("idempotent-replayed")]).toEqual([201, null]);
  });

  test("never replays an expired launch URL", async () => {
    const { sessionId } = (await create("e")).json as { sessionId: string };
    const launch = async () =>
      (await app.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, { headers: { "idempotency-key": "e" } })).text;
    const first = await launch();
    expect(await launch()).toBe(first);
    await clock.advance(5 * MINUTE + 1);
    expect(await launch()).not.toBe(first);
  });

  test("requires a key of 1 to 255 characters", async () => {
    expect((await create("x".repeat(255))).status).toBe(201);
    expect((await create("x".repeat(256))).json).toMatchObject({ details: [{ field: "Idempotency-Key" }] });
  });

  test("stores its reply encrypted", async () => {
    await create("f");
    const rows = await app.store.db.selectFrom("idempotency").select("body").execute();
    expect(rows.map(({ body }) => body).join()).not.toMatch(/ses_|sbx_/);
  });
});

describe("on webhook routes", () => {
  const post = (path: string, body?: unknown) =>
    app.call("POST", `/api/b2b/webhooks${path}`, { body, headers: { "idempotency-key": "w" } });
  const hook = { url: "https://hooks.acme.example/" };

  test("creates one webhook, and a retry gets the same secret", async () => {
    const [first, second] = [await post("", hook), await post("", hook)];
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text]);
    expect((await app.call("GET", "/api/b2b/webhooks")).json).toMatchObject({ data: [{ url: hook.url }] });
  });

  test("treats each delivery as its own scope", async () => {
    const { id } = (await post("", hook)).json as { id: string };
    const sent = [(await app.call("POST", `/api/b2b/webhooks/${id}/test`)).json, (await post(`/${id}/test`)).json] as { id: string }[];
    const again = await Promise.all(sent.map((delivery) => post(`/${id}/deliveries/${delivery.id}/redeliver`)));
    expect(again.map(({ status }) => status)).toEqual([202, 202]);
    expect(new Set(again.map(({ json }) => (json as { id: string }).id)).size).toBe(2);
  });

  test("creates no webhook if its reply cannot be stored", async () => {
    await using broken = await startTestApp();
    await sql`create trigger full before update on idempotency begin select raise(abort, 'disk full'); end`.execute(broken.store.db);
    const response = await broken.call("POST", "/api/b2b/webhooks", { body: hook, headers: { "idempotency-key": "w" } });
    expect(response.status).toBe(500);
    expect((await broken.call("GET", "/api/b2b/webhooks")).json).toEqual({ data: [] });
  });
});

describe("while the first request is in flight", () => {
  test("a retry gets 409 with Retry-After", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    await using plain = await startTestApp();
    await using slow = await startTestApp({
      store: plain.store,
      sessions: delayed(plain.sessions, () => (entered.resolve(), gate.promise)),
    });
    const send = () => slow.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u" }, headers: { "idempotency-key": "k" } });
    const first = send();
    await entered.promise;
    const second = await send();
    expect([second.status, second.headers.get("retry-after"), second.headers.get("x-error-code")]).toEqual([
      409,
      "1",
      "idempotency_in_flight",
    ]);
    gate.resolve();
    expect((await first).status).toBe(201);
    expect((await send()).text).toBe((await first).text);
  });

  test("a request whose key was taken over has no effect", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    await using plain = await startTestApp();
    await using stalled = await startTestApp({
      store: plain.store,
      sessions: delayed(plain.sessions, () => (entered.resolve(), gate.promise)),
      authenticate: () => acme,
    });
    const send = (to: TestApp) => fetch(`${to.base}/api/b2b/sessions`, request(plain.key));
    const first = send(stalled);
    await entered.promise;
    // Expire the lease, as if the first server had died.
    await plain.store.db.updateTable("idempotency").set({ lease_until: 0 }).execute();
    const second = await send(plain);
    gate.resolve();
    expect([second.status, (await first).status]).toEqual([201, 409]);
    expect(await count(plain)).toBe(1);
  });

  test("exactly one of many concurrent requests claims the key", async () => {
    const claims = Array.from({ length: 20 }, (_, i) => ({ partnerId: "acme", scope: "race", fingerprint: "f", owner: `o${i}` }));
    const race = () =>
      Promise.all(claims.map((claim) => claimKey(app.store.db, claim, clock.now(), clock.now() + 1000, clock.now() + HOUR)));
    expect((await race()).filter(({ is }) => is === "mine")).toHaveLength(1);
    await clock.advance(1001);
    expect((await race()).filter(({ is }) => is === "mine")).toHaveLength(1);
  });
});

test("retrying after a connection loss at any moment never creates a second session", async () => {
  const cuts: string[] = [];
  await using plain = await startTestApp();
  let reach = (_moment: Moment) => {};
  const sessions: Sessions = {
    ...plain.sessions,
    async create(...args) {
      reach("entered");
      await turns(Math.random() * 20);
      const made = await plain.sessions.create(...args);
      reach("made");
      await turns(Math.random() * 20);
      return made;
    },
  };
  await using flaky = await startTestApp({ store: plain.store, sessions, authenticate: () => acme });
  for (let i = 0; i < 60; i++) {
    const moment = MOMENTS[i % MOMENTS.length]!;
    const reached = new Promise<void>((resolve) => (reach = (met) => met === moment && resolve()));
    const body = JSON.stringify({ externalUserId: `user-${i}` });
    const bytes = `POST /api/b2b/sessions HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${plain.key}\r\nIdempotency-Key: cut-${i}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(flaky.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.once("data", () => reach("answered"));
    socket.write(bytes, () => reach("sent"));
    const later = Math.floor(Math.random() * 30);
    cuts.push(`${later} turns after it was ${moment}`);
    await reached;
    await turns(later);
    socket.destroy();
    let status = 0;
    while (status !== 201) {
      const response = await fetch(`${flaky.base}/api/b2b/sessions`, { ...request(plain.key, `cut-${i}`), body });
      status = response.status;
      expect([201, 409]).toContain(status);
    }
  }
  expect(await count(plain), `cut ${cuts.join(", ")}`).toBe(60);
});

const MOMENTS = ["sent", "entered", "made", "answered"] as const;
type Moment = (typeof MOMENTS)[number];

// Turns of the event loop, a measure of progress that does not depend on the speed of the machine.
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

const acme = {
  keyId: "key_1",
  scope: "admin" as const,
  partner: { id: "acme", maxSessions: null, maxSessionsPerUser: null, ratePerMinute: null, idleTimeoutMs: null },
};

const request = (key: string, idempotencyKey = "k") => ({
  method: "POST",
  headers: { "x-api-key": key, "idempotency-key": idempotencyKey, "content-type": "application/json" },
  body: '{"externalUserId":"u"}',
});

const delayed = (sessions: Sessions, wait: () => Promise<unknown>): Sessions => ({
  ...sessions,
  create: async (...args) => {
    await wait();
    return sessions.create(...args);
  },
});
