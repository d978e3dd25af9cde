import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "@berth/contract";
import { sharedPostgres, type TestPostgres } from "../../tests/support/databases/postgres.ts";
import { openSeverableProxy } from "../../tests/support/servers/severable-proxy.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { startTestApp, type TestApp } from "./testing/test-app.ts";

// PostgreSQL rejects some text that SQLite accepts. No path, query or body may cause such a rejection.
let postgres: TestPostgres;
let app: TestApp;
beforeAll(async () => {
  postgres = await sharedPostgres();
  app = await startTestApp({ url: await postgres.createDatabase() });
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

const HOSTILE = ["%00", "a%00b", "%ED%A0%80", "%F0%9F%98%80", "'%3B--", "x".repeat(3000)];

test("text that PostgreSQL would reject gets an ordinary reply", async () => {
  for (const text of HOSTILE) {
    const paths: [string, string][] = [
      ["GET", `/api/b2b/sessions/${text}`],
      ["GET", `/api/b2b/webhooks/${text}`],
      ["POST", `/api/b2b/webhooks/${text}/deliveries/${text}/redeliver`],
      ["GET", `/api/b2b/sessions?externalUserId=${text}&metadata.${text}=${text}`],
      ["GET", `/api/b2b/sessions?cursor=${text}`],
      ["GET", `/api/b2b/events?after=${text}`],
    ];
    for (const [method, path] of paths) {
      const { status } = await app.call(method, path, { headers: { "idempotency-key": "k" } });
      expect([200, 400, 404], `${method} ${path}`).toContain(status);
    }
  }
  for (const body of [
    { url: "https://x.example/\0" },
    { url: "https://x.example/\ud800" },
    { url: "https://x.example/", description: "\0" },
    { url: "https://x.example/", description: "\ud800" },
  ]) {
    expect([201, 400]).toContain((await app.call("POST", "/api/b2b/webhooks", { body })).status);
  }
});

test("the shared rate limit, idempotency and the audit log work on PostgreSQL", async () => {
  const key = await app.addPartner("globex", { ratePerMinute: 100 });
  const first = await app.call("POST", "/api/b2b/sessions", { key, body: { externalUserId: "u" }, headers: { "idempotency-key": "k" } });
  const again = await app.call("POST", "/api/b2b/sessions", { key, body: { externalUserId: "u" }, headers: { "idempotency-key": "k" } });
  expect([first.status, again.text]).toEqual([201, first.text]);
  expect(again.headers.get("ratelimit")).toMatch(/^"default";r=9\d;t=\d+$/);
  const startedMs = performance.now();
  const calls = await Promise.all(Array.from({ length: 200 }, () => app.call("GET", "/api/b2b/webhooks", { key })));
  const seconds = (performance.now() - startedMs) / 1000;
  // A hundred per minute, plus the tokens that are refilled in the meantime.
  expect(calls.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(115 + Math.ceil((seconds * 100) / 60));
  expect(calls.some(({ status }) => status === 429)).toBe(true);
});

test("an Idempotency-Key is free again soon after a 503, wherever the database was lost", async () => {
  const url = new URL(await postgres.createDatabase());
  await using proxy = await openSeverableProxy(() => Number(url.port));
  let loses = true;
  // The store is lost while the first request works, so that its key cannot be released either.
  const losing = (sessions: Sessions): Sessions => ({
    ...sessions,
    async create(...call) {
      if (!loses) return sessions.create(...call);
      proxy.sever();
      throw new AppError("store_unavailable");
    },
  });
  const through = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  await using plain = await startTestApp({ url: through });
  await using lossy = await startTestApp({ store: plain.store, sessions: losing(plain.sessions) });
  const create = () => lossy.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u" }, headers: { "idempotency-key": "k" } });
  expect((await create()).status).toBe(503);
  loses = false;
  proxy.restore();
  const restoredMs = performance.now();
  await expect.poll(async () => (await create()).status, { timeout: 20_000, interval: 100 }).toBe(201);
  // Without the release it takes until the end of the lease, 15 seconds.
  expect(performance.now() - restoredMs).toBeLessThan(8_000);
});
