import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPartner } from "../../server/keys/partners.ts";
import { issueKey, revokeKey } from "../../server/keys/keys.ts";
import { systemClock } from "../../server/clock.ts";
import { silentLog } from "../../server/log.ts";
import { openStore, type Store } from "../../server/store/open.ts";
import { createApi } from "../support/servers/api.ts";
import { ASK_PROXY, policyThatSaid } from "../support/servers/ask-proxy.ts";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { sharedPostgres } from "../support/databases/postgres.ts";

// Three servers share one PostgreSQL. Each owns the sandboxes of its machine (here: the process driver). They start at the same
// moment on an empty database, and each is killed once while partners call all of them.
let postgres: Awaited<ReturnType<typeof sharedPostgres>>;
let servers: Berth[] = [];
let store: Store;

beforeAll(async () => {
  postgres = await sharedPostgres();
  const shared = {
    BERTH_DATABASE_URL: await postgres.createDatabase(),
    BERTH_MASTER_KEY: randomBytes(32).toString("hex"),
    BERTH_API_KEY: `berth_${randomBytes(32).toString("hex")}`,
    BERTH_DRIVER: "process",
    BERTH_LOG_LEVEL: "warn",
  };
  servers = await Promise.all([1, 2, 3].map(() => prepareBerth(shared)));
  await Promise.all(servers.map((server) => server.start()));
  store = await openStore({ url: shared.BERTH_DATABASE_URL, file: "", log: silentLog });
});
afterAll(async () => {
  await store?.[Symbol.asyncDispose]();
  for (const server of servers) await server[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

const keyOf = () => servers[0]!.env.BERTH_API_KEY!;
const apiOf = (server: Berth) => createApi(server.url, keyOf());

test("every server knows every session and sends callers to the server on the sandbox's machine, which alone acts on it", async () => {
  const [first, second] = servers.map(apiOf);
  const session = await first!.create();
  const path = `/api/b2b/sessions/${session.sessionId}`;
  const { sandboxUrl } = session;
  expect((await second!.call("GET", path)).body).toEqual(session);
  expect((await second!.call("GET", `${path}?expand=details`)).body).toMatchObject({ sandboxUrl });
  expect((await second!.call("GET", "/api/b2b/sessions")).body).toMatchObject({ data: [{ sandboxUrl }] });
  expect((await second!.call("PATCH", path, { metadata: { plan: "pro" } })).body).toMatchObject({ sandboxUrl });
  const { url } = (await second!.call("POST", `${path}/launch-url`)).body as { url: string };
  expect(new URL(url).origin).toBe(servers[0]!.url);
  expect((await fetch(url, { redirect: "manual" })).status).toBe(303);
  const refused = await second!.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
  expect(refused.status).toBe(421);
  expect(refused.body).toMatchObject({ error: expect.stringContaining(servers[0]!.url) });
  const relayed = await second!.call("POST", `/sandboxes/${session.sandboxId}/exec`, { command: "true" });
  expect([relayed.status, relayed.body]).toEqual([421, refused.body]);
  expect((await first!.call("POST", `/sandboxes/${session.sandboxId}/exec`, { command: "true" })).status).toBe(200);
  // The server of the sandbox learns of a policy that another server has changed within a second.
  const policy = async () => policyThatSaid((await first!.exec(session.sandboxId, ASK_PROXY)).stdout);
  expect(await policy()).toBe("public");
  expect((await second!.call("PATCH", path, { egress: { policy: "none" } })).status).toBe(200);
  await expect.poll(policy, { timeout: 1_000 }).toBe("none");
  expect((await first!.call("DELETE", `/api/b2b/sessions/${session.sessionId}`)).status).toBe(200);
});

test("a revoked key stops working on every server within five seconds", async () => {
  await createPartner(store.db, systemClock, "acme");
  const { key, id } = await issueKey(store.db, systemClock, "acme");
  const statuses = () =>
    Promise.all(servers.map(async (server) => (await createApi(server.url, key).call("GET", "/api/b2b/sessions/x")).status));
  expect(await statuses()).toEqual([404, 404, 404]);
  await revokeKey(store.db, systemClock, id);
  const revokedMs = performance.now();
  // The time of the request counts, because on a busy machine its response may be late.
  let lastAcceptedMs = 0;
  let answers = await statuses();
  while (answers.includes(404)) {
    await delay(100);
    const sentMs = performance.now() - revokedMs;
    answers = await statuses();
    if (answers.includes(404)) lastAcceptedMs = sentMs;
  }
  expect(answers).toEqual([401, 401, 401]);
  expect(lastAcceptedMs).toBeLessThan(5000);
});

test("when servers are killed in turn under load, every acknowledged session keeps its last acknowledged state", async () => {
  const acknowledged = new Map<string, string>();
  let over = false;
  const partner = async (server: Berth) => {
    const api = apiOf(server);
    while (!over) {
      try {
        const session = await api.create();
        acknowledged.set(session.sessionId, "running");
        const paused = await api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
        if (paused.status === 200) acknowledged.set(session.sessionId, "paused");
        const gone = await api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
        if (gone.status === 200) acknowledged.set(session.sessionId, "destroyed");
      } catch {
        // The server is down; it is started again.
        await delay(50);
      }
    }
  };
  const load = servers.map(partner);
  for (const server of servers) {
    await expect.poll(() => acknowledged.size).toBeGreaterThan(2);
    await server.kill();
    await server.start();
  }
  over = true;
  await Promise.all(load);
  const order = ["running", "paused", "destroyed"];
  const api = apiOf(servers[1]!);
  const settled = async () => {
    const wrong: string[] = [];
    for (const [id, status] of acknowledged) {
      const response = await api.call("GET", `/api/b2b/sessions/${id}`);
      const now = (response.body as { status?: string }).status ?? "";
      if (response.status !== 200 || order.indexOf(now) < order.indexOf(status))
        wrong.push(`${id} was ${status}, is ${response.status} ${now}`);
    }
    const stuck = await store.db.selectFrom("sessions").select(["id", "state"]).where("lease_until", "is not", null).execute();
    return [...wrong, ...stuck.map((row) => `${row.id} is stuck in ${row.state}`)];
  };
  await expect.poll(settled, { timeout: 30_000, interval: 500 }).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(5);
});
