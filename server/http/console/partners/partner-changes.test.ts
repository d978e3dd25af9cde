import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionId } from "@berth/contract";
import { CONSOLE_HEADER, type ConsolePartnerDetail } from "@berth/contract/console.ts";
import { HOUR, systemClock } from "../../../clock.ts";
import { issueOperatorToken } from "../../../keys/console/operator-tokens.ts";
import { getPartner } from "../../../keys/partners.ts";
import { insertSessionRow, sessionRow } from "../../../store/testing/session-row.ts";
import { listAudit } from "../../../store/partners/audit.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../../testing/test-app.ts";

const OWN = { origin: TEST_BASE_URL, [CONSOLE_HEADER]: "1" };
const LOGO = `data:image/svg+xml;base64,${Buffer.from("<svg/>").toString("base64")}`;
const QUERY = "?partner=acme";
let app: TestApp;
let cookies: { operator: string; partner: string };

beforeAll(async () => {
  app = await startTestApp();
  const { token } = await issueOperatorToken(app.store.db, systemClock, { name: "Ada", expiresAt: Date.now() + HOUR });
  cookies = { operator: await signIn("/console", token), partner: await signIn("/console/partner", app.key) };
});
afterAll(() => app[Symbol.asyncDispose]());

async function signIn(path: string, secret: string): Promise<string> {
  const { headers } = await app.call("POST", `${path}/api/login`, { key: null, headers: OWN, body: { secret } });
  return headers.get("set-cookie")!.split(";")[0]!;
}

async function call(kind: "operator" | "partner", method: string, path: string, body?: object) {
  const url = `${kind === "operator" ? "/console" : "/console/partner"}/api${path}`;
  const { status, json } = await app.call(method, url, { key: null, headers: { ...OWN, cookie: cookies[kind] }, ...(body && { body }) });
  return { status, json: json as ConsolePartnerDetail & { error: string; details: { field: string; message: string }[] } };
}

const version = async () => (await call("operator", "GET", `/partner${QUERY}`)).json.version;

test("an operator changes limits, and every wrong value is named with its field", async () => {
  const limits = {
    name: "Acme Inc",
    maxSessions: "5",
    maxSessionsPerUser: "",
    idleTimeout: "30m",
    autoResume: "yes",
    onTimeout: "destroy",
  };
  const saved = await call("operator", "POST", `/partner/limits${QUERY}`, { version: await version(), ...limits });
  expect([saved.status, saved.json]).toMatchObject([
    200,
    { name: "Acme Inc", maxSessions: 5, maxSessionsPerUser: null, idleTimeoutMs: 1_800_000, autoResume: true, onTimeout: "destroy" },
  ]);
  expect(await listAudit(app.store.db, { target: "acme", limit: 1 })).toMatchObject([
    { action: "partner.update", actor: expect.stringMatching(/^opr_/) },
  ]);

  const wrong = { maxSessions: "many", idleTimeout: "30", maxTimeout: "9d", onTimeout: "explode", name: "x".repeat(101), state: "gone" };
  const refused = await call("operator", "POST", `/partner/limits${QUERY}`, { version: await version(), ...wrong });
  expect(refused.status).toBe(400);
  expect(refused.json.details.map(({ field }) => field).toSorted()).toEqual(Object.keys(wrong).toSorted());
  expect(refused.json.details.find(({ field }) => field === "idleTimeout")?.message).toBe(
    "Allowed: a duration from 2m to 24h, such as 30m",
  );
  expect(await getPartner(app.store.db, "acme")).toMatchObject({ maxSessions: 5, name: "Acme Inc" });
});

test("a form that was opened before another change is refused", async () => {
  const before = await version();
  expect((await call("operator", "POST", `/partner/limits${QUERY}`, { version: before, maxSessions: "6" })).status).toBe(200);
  const late = await call("operator", "POST", `/partner/limits${QUERY}`, { version: before, maxSessions: "7" });
  expect([late.status, late.json.error]).toEqual([412, expect.stringContaining("Someone else has changed this partner")]);
  expect((await getPartner(app.store.db, "acme")).maxSessions).toBe(6);
});

test("a partner changes its origins and branding, but not its limits", async () => {
  const appearance = {
    origins: "https://a.example\n https://b.example:8443/ ",
    accent: "#7c3aed",
    logo: LOGO,
    hideAgent: "yes",
    offerSsh: "yes",
  };
  const saved = await call("partner", "POST", "/partner/appearance", { version: await version(), ...appearance });
  expect([saved.status, saved.json]).toMatchObject([
    200,
    {
      origins: ["https://a.example", "https://b.example:8443"],
      branding: { accent: "#7c3aed", logo: LOGO, hideAgent: true, offerSsh: true },
    },
  ]);
  const wrong = { origins: "https://a.example/path", accent: "purple", logo: "data:text/html;base64,AAAA", hideAgent: "maybe" };
  const refused = await call("partner", "POST", "/partner/appearance", { version: await version(), ...wrong });
  expect(refused.json.details.map(({ field }) => field)).toEqual(["origins", "accent", "logo", "hideAgent"]);
  const tooLarge = { logo: `data:image/png;base64,${"A".repeat(24_000)}` };
  expect((await call("partner", "POST", "/partner/appearance", { version: await version(), ...tooLarge })).status).toBe(400);
  expect((await call("partner", "POST", "/partner/limits", { version: await version(), maxSessions: "" })).status).toBe(404);

  const emptied = await call("partner", "POST", "/partner/appearance", { version: await version(), origins: "", accent: "", logo: "" });
  expect(emptied.json).toMatchObject({ origins: [], branding: { accent: null, logo: null, hideAgent: true } });
});

test("only the partner itself lets support look at its workspaces, and every visit is in its audit log", async () => {
  const { json: created } = await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "ada" } });
  const { sessionId } = created as { sessionId: string };
  const row = sessionRow(Date.now(), { id: sessionId as SessionId, partner_id: "acme" });
  await insertSessionRow(app.store.db, row);
  const look = () => call("operator", "POST", `/sessions/${sessionId}/support`);
  expect((await look()).status).toBe(403);
  expect((await call("operator", "POST", `/partner/support${QUERY}`, { version: await version(), supportAccess: "yes" })).status).toBe(404);
  const allowed = await call("partner", "POST", "/partner/support", { version: await version(), supportAccess: "yes" });
  expect([allowed.status, allowed.json.supportAccess]).toEqual([200, true]);
  const { status, json } = await look();
  expect([status, json]).toEqual([200, { url: expect.stringContaining("role=support") }]);
  expect((await call("partner", "POST", `/sessions/${sessionId}/support`)).status).toBe(404);
  expect(await listAudit(app.store.db, { partnerId: "acme", limit: 2 })).toMatchObject([
    { action: "session.support", target: sessionId },
    { action: "partner.allow_support", actor: app.keyId },
  ]);
});

test("a suspended partner's keys stop working at once", async () => {
  await call("operator", "POST", `/partner/limits${QUERY}`, { version: await version(), state: "suspended" });
  expect((await app.call("GET", "/api/b2b/sessions")).status).toBe(401);
  await call("operator", "POST", `/partner/limits${QUERY}`, { version: await version(), state: "active" });
  expect((await app.call("GET", "/api/b2b/sessions")).status).toBe(200);
  const actions = (await listAudit(app.store.db, { target: "acme", limit: 2 })).map(({ action }) => action);
  expect(actions).toEqual(["partner.activate", "partner.suspend"]);
});
