import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@berth/contract";
import { CONSOLE_HEADER } from "@berth/contract/console.ts";
import { HOUR, systemClock } from "../../clock.ts";
import { issueKey } from "../../keys/keys.ts";
import { issueOperatorToken } from "../../keys/console/operator-tokens.ts";
import { appendEvent } from "../../store/events.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { addEgressHosts } from "../../store/session-logs/egress-hosts.ts";
import { insertOpenings } from "../../store/session-logs/openings.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { insertRun } from "../../store/runs/write.ts";
import { insertSnapshot } from "../../store/snapshots/write.ts";
import { addUsage, dayOf } from "../../store/usage/days.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../testing/test-app.ts";
import { consoleRoutes } from "./console.ts";

// Everything of the other partner contains this word.
const OTHER = "zzother";
const HEADERS = { origin: TEST_BASE_URL, [CONSOLE_HEADER]: "1" };
const ROUTES = consoleRoutes({} as never).map(({ method, path, operatorOnly = false }) => ({ method, path, operatorOnly }));

const OTHER_HOST = {
  host: `${OTHER}.example`,
  port: 443,
  outcome: "allowed" as const,
  rule: "public",
  connections: 1,
  sentBytes: 1,
  receivedBytes: 1,
  firstAt: 1,
  lastAt: 1,
};

let app: TestApp;
let otherIds: string[];
let cookies: { operator: string; partner: string };

beforeAll(async () => {
  app = await startTestApp();
  otherIds = await createOther();
  const { token } = await issueOperatorToken(app.store.db, systemClock, { name: "Ada", expiresAt: Date.now() + HOUR });
  cookies = { operator: await signIn("/console", token), partner: await signIn("/console/partner", app.key) };
});
afterAll(() => app[Symbol.asyncDispose]());

async function signIn(path: string, secret: string): Promise<string> {
  const { headers } = await app.call("POST", `${path}/api/login`, { key: null, headers: HEADERS, body: { secret } });
  return headers.get("set-cookie")!.split(";")[0]!;
}

// Returns the ids of a session, a webhook, a delivery, a key and a snapshot of the other partner.
async function createOther(): Promise<string[]> {
  const key = await app.addPartner(OTHER, { name: `${OTHER} Ltd` });
  const nowMs = Date.now();
  const { db } = app.store;
  const row = sessionRow(nowMs, { partner_id: OTHER, external_user_id: `${OTHER}-user`, metadata: JSON.stringify({ note: OTHER }) });
  await insertSessionRow(db, row);
  await appendEvent(db, { partnerId: OTHER, sessionId: row.id, type: "session.created", at: nowMs, data: { note: OTHER } });
  await appendAudit(db, { partnerId: OTHER, actor: "key_x", action: `${OTHER}.create`, target: row.id, ip: null, requestId: null }, nowMs);
  await addEgressHosts(db, row.id, [OTHER_HOST]);
  await insertOpenings(db, [
    { sessionId: row.id, openedAt: nowMs, address: "192.0.2.1", agent: `${OTHER} browser`, role: null, name: null, endedAt: null },
  ]);
  const snapshotId = newId("snp", nowMs);
  const snapshot = { sessionId: row.id, purpose: "keep", name: OTHER, template: "default" } as const;
  const lease = { owner: "server", untilMs: nowMs };
  await insertSnapshot(db, { id: snapshotId, partnerId: OTHER, ...snapshot, site: { driver: "oci", host: null }, lease, nowMs });
  const run = { id: newId("run", nowMs), partnerId: OTHER, sessionId: row.id, externalUserId: OTHER, request: { prompt: OTHER }, nowMs };
  await insertRun(db, run);
  const owner = { session_id: row.id, partner_id: OTHER, external_user_id: OTHER, template: "default" };
  await addUsage(db, [{ ...owner, day: dayOf(nowMs), running_ms: 987_654_000 }]);
  const webhook = (await app.call("POST", "/api/b2b/webhooks", { key, body: { url: `http://127.0.0.1:1/${OTHER}` } })).json as {
    id: string;
  };
  const delivery = (await app.call("POST", `/api/b2b/webhooks/${webhook.id}/test`, { key })).json as { id: string };
  const { id: keyId } = await issueKey(db, systemClock, OTHER, { name: OTHER });
  return [row.id, webhook.id, delivery.id, keyId, snapshotId];
}

// The route with each id of the other partner in the place of its own, and with queries that name the other partner.
function urlsOf(path: string): string[] {
  const filled = path.replace(":deliveryId", otherIds[2]!);
  const urls = filled.includes(":id") ? otherIds.map((id) => filled.replace(":id", id)) : [filled];
  const queries = [
    `?partner=${OTHER}&search=${OTHER}&status=all`,
    ...(path === "/sessions" ? ["", `?ids=${otherIds[0]}`] : []),
    ...(path === "/runs" ? ["", `?sessionId=${otherIds[0]}&user=${OTHER}`] : []),
  ];
  return urls.flatMap((url) => queries.map((query) => url + query));
}

const call = (kind: "operator" | "partner", method: string, url: string) =>
  app.call(method, `${kind === "operator" ? "/console" : "/console/partner"}/api${url}`, {
    key: null,
    headers: { ...HEADERS, cookie: cookies[kind] },
    ...(method === "POST" && { body: { timeoutMs: 60_000 } }),
  });

test.each(ROUTES)("a partner gets and changes nothing of another with $method $path", async ({ method, path, operatorOnly }) => {
  for (const url of urlsOf(path)) {
    const { status, text } = await call("partner", method, url);
    if (operatorOnly || path.includes(":id")) expect([url, status]).toEqual([url, 404]);
    for (const secret of [OTHER, "987654", ...otherIds]) expect([url, text.includes(secret)]).toEqual([url, false]);
  }
});

test("the same calls show an operator the other partner's data", async () => {
  const [session, webhook] = otherIds;
  const urls = [
    "/sessions",
    `/sessions/${session}`,
    `/sessions/${session}/openings`,
    `/sessions/${session}/egress`,
    "/partners",
    `/keys?partner=${OTHER}`,
    "/runs",
    `/runs?sessionId=${session}&user=${OTHER}&partner=${OTHER}`,
    "/snapshots",
    "/webhooks",
    `/webhooks/${webhook}/deliveries`,
    "/audit",
  ];
  for (const url of urls) {
    const { status, text } = await call("operator", "GET", url);
    expect([url, status]).toEqual([url, 200]);
    expect(text).toMatch(/zzother|dlv_/);
  }
  expect((await call("operator", "GET", `/usage?partner=${OTHER}`)).text).toContain("987654");
  expect((await call("operator", "GET", `/usage.csv?partner=${OTHER}`)).text).toContain("987654");
});

test("the partner API gives a session's egress log to its own partner only", async () => {
  const { key } = await issueKey(app.store.db, systemClock, OTHER, { scope: "sessions" });
  const { json: created } = await app.call("POST", "/api/b2b/sessions", { key, body: { externalUserId: "ada" } });
  const { sessionId } = created as { sessionId: string };
  await addEgressHosts(app.store.db, sessionId, [OTHER_HOST]);
  const path = `/api/b2b/sessions/${sessionId}/egress`;
  expect((await app.call("GET", path)).status).toBe(404);
  const { status, json } = await app.call("GET", path, { key });
  expect([status, json]).toMatchObject([200, { data: [{ host: `${OTHER}.example`, outcome: "allowed", connections: 1 }] }]);
});

test("a partner sees that it was the operator who changed something, but not who and from where", async () => {
  const entry = { partnerId: "acme", actor: "opr_hidden", action: "key.issue", target: "key_x", ip: "192.0.2.77", requestId: null };
  await appendAudit(app.store.db, entry, Date.now());
  const { text } = await call("partner", "GET", "/audit");
  expect(text).toContain('"actor":"operator"');
  expect(text).not.toMatch(/opr_hidden|192\.0\.2\.77/);
});

test("no reply contains a secret of a session, key or webhook", async () => {
  const stored = await app.store.db.selectFrom("webhook_endpoints").select(["secret"]).execute();
  const hashes = await app.store.db.selectFrom("keys").select("hash").execute();
  for (const { path, method } of ROUTES.filter((route) => route.method === "GET"))
    for (const url of urlsOf(path)) {
      const { text } = await call("operator", method, url);
      for (const secret of [...stored.map((row) => row.secret), ...hashes.map((row) => row.hash)]) expect(text).not.toContain(secret);
    }
});
