import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UsageReport } from "@berth/contract";
import { createApi, type Api } from "../support/servers/api.ts";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { sharedPostgres, type TestPostgres } from "../support/databases/postgres.ts";

// Two servers on one PostgreSQL: what one server issued is valid on the other, also after a restart.
let postgres: TestPostgres;
let servers: Berth[] = [];
let first: Api;
let second: Api;
// The second server reads the name of a fail point from this file whenever it reaches one.
const failpoint = () => join(servers[1]!.dataDir, "failpoint");
const key = `berth_${randomBytes(32).toString("hex")}`;

beforeAll(async () => {
  postgres = await sharedPostgres();
  const shared = {
    BERTH_DATABASE_URL: await postgres.createDatabase(),
    BERTH_MASTER_KEY: randomBytes(32).toString("hex"),
    BERTH_API_KEY: key,
    BERTH_DRIVER: "process",
    BERTH_ALLOW_UNISOLATED: "1",
    BERTH_LOG_LEVEL: "error",
    BERTH_RATE_LIMIT: "300",
    BERTH_BASE_URL: "https://berth.example",
    BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
  };
  servers = await Promise.all([prepareBerth(shared), prepareBerth(shared)]);
  writeFileSync(failpoint(), "");
  await Promise.all([servers[0]!.start(), servers[1]!.start({ BERTH_TEST_FAILPOINT: failpoint() })]);
  [first, second] = servers.map(({ url }) => createApi(url, key)) as [Api, Api];
}, 180_000);
afterAll(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

interface Page {
  data: { sessionId: string }[];
  nextCursor: string;
}

test("idempotency records, ETags, cursors and launch URLs of one server are valid on the other", async () => {
  const create = (api: Api, name: string) => api.call("POST", "/api/b2b/sessions", { externalUserId: name }, { "idempotency-key": name });
  const made = [];
  for (const name of ["a", "b", "c"]) made.push(await create(first, name));
  const again = await create(second, "c");
  expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([201, "true", made[2]!.body]);
  expect((await second.call("POST", "/api/b2b/sessions", { externalUserId: "x" }, { "idempotency-key": "c" })).status).toBe(422);

  const path = `/api/b2b/sessions/${(made[0]!.body as { sessionId: string }).sessionId}`;
  const etag = (await first.call("GET", path)).headers.get("etag")!;
  expect((await second.call("GET", path, undefined, { "if-none-match": etag })).status).toBe(304);

  const page = (await first.call("GET", "/api/b2b/sessions?limit=2")).body as Page;
  await servers[1]!.kill();
  await servers[1]!.start({ BERTH_TEST_FAILPOINT: failpoint() });
  const rest = (await second.call("GET", `/api/b2b/sessions?limit=2&cursor=${page.nextCursor}`)).body as Page;
  expect([...page.data, ...rest.data].map(({ sessionId }) => sessionId)).toEqual(
    made.toReversed().map(({ body }) => (body as { sessionId: string }).sessionId),
  );
  expect((await create(second, "a")).headers.get("idempotent-replayed")).toBe("true");
});

test("a webhook receives the events of both servers once each, in order and signed", async () => {
  const received: { body: string; headers: Record<string, string> }[] = [];
  const receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      received.push({ body, headers: request.headers as Record<string, string> });
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  try {
    await new Promise((resolve) => receiver.once("listening", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const { secret } = (await second.call("POST", "/api/b2b/webhooks", { url })).body as { secret: string };
    const [one, two] = [await first.create(), await second.create()];
    for (const [api, { sessionId }] of [
      [first, one],
      [second, two],
    ] as const) {
      for (const step of ["pause", "resume"]) await api.call("POST", `/api/b2b/sessions/${sessionId}/${step}`);
      await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
    }
    await expect.poll(() => received.length).toBe(8);
    const events = received.map(
      ({ body, headers }) => new Webhook(secret).verify(body, headers) as { type: string; data: { sessionId: string } },
    );
    for (const { sessionId } of [one, two])
      expect(events.filter(({ data }) => data.sessionId === sessionId).map(({ type }) => type)).toEqual([
        "session.created",
        "session.paused",
        "session.resumed",
        "session.destroyed",
      ]);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(8);
  } finally {
    await new Promise((resolve) => receiver.close(resolve));
  }
});

test("the time of a session equals the time between its events, although a server is killed while it counts it", async () => {
  const [api, server] = [second, servers[1]!];
  const { sessionId } = await api.create();
  const path = `/api/b2b/sessions/${sessionId}`;
  writeFileSync(failpoint(), "usage.counting");
  await expect(api.call("POST", `${path}/pause`)).rejects.toThrow("fetch failed");
  await server.died();
  await server.start({ BERTH_TEST_FAILPOINT: "" });
  await expect.poll(async () => ((await api.call("GET", path)).body as { status: string }).status).toBe("paused");
  await api.call("POST", `${path}/resume`);
  await api.call("DELETE", path);
  const { data: events } = (await first.call("GET", "/api/b2b/events")).body as {
    data: { type: string; timestamp: string; data: { sessionId: string } }[];
  };
  const ofSession = events.filter(({ data }) => data.sessionId === sessionId);
  expect(ofSession.map(({ type }) => type)).toEqual(["session.created", "session.paused", "session.resumed", "session.destroyed"]);
  const [created, paused, resumed, destroyed] = ofSession.map(({ timestamp }) => Date.parse(timestamp)) as [number, number, number, number];
  const { data: rows } = (await first.call("GET", "/api/b2b/usage?groupBy=session")).body as UsageReport;
  const used = rows.find((row) => row.sessionId === sessionId)!;
  expect(Math.round(used.runningSeconds * 1000)).toBe(paused - created + (destroyed - resumed));
  expect(Math.round((used.pausedSeconds + used.hibernatedSeconds) * 1000)).toBe(resumed - paused);
});

test("the rate limit of a key applies to both servers together", async () => {
  const statuses: number[] = [];
  const startedMs = performance.now();
  for (let i = 0; i < 23; i++) {
    const batch = Array.from({ length: 20 }, (_, n) => (n % 2 ? first : second).call("GET", "/api/b2b/sessions?limit=1"));
    statuses.push(...(await Promise.all(batch)).map(({ status }) => status));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const allowed = statuses.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  // 300 per minute, five per second that are refilled during the test, and the hundredth that each server reserves in advance.
  expect(allowed).toBeLessThanOrEqual(300 + Math.ceil(seconds * 5) + 2 * 3);
});
