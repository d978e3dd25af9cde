import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  ROUTES,
  TOKEN_SCOPES,
  type Route,
  type SandboxId,
  type Session,
  type SessionId,
  type SessionToken,
  type SessionTokenWithSecret,
} from "@berth/contract";
import { MINUTE, SECOND } from "../../clock.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
let clock: TestClock;
let session: Session;
beforeEach(async () => {
  clock = createTestClock();
  app = await startTestApp({
    clock,
    issuePreviewUrl: async ({ sandboxId }, { port, path, ttlMs }) => ({
      url: `https://${port}-${sandboxId.replace("_", "-")}.preview.example${path}`,
      expiresAtMs: clock.now() + ttlMs,
    }),
  });
  session = (await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "ada" } })).json;
  // The sessions of the test are in memory, and tokens belong to a row.
  const ids = { id: session.sessionId as SessionId, sandbox_id: session.sandboxId as SandboxId };
  await insertSessionRow(app.store.db, sessionRow(clock.now(), ids));
});
afterEach(() => app[Symbol.asyncDispose]());

const tokensPath = () => `/api/b2b/sessions/${session.sessionId}/tokens`;
const create = async (body: object = {}): Promise<SessionTokenWithSecret> =>
  (await app.call("POST", tokensPath(), { body: { scopes: ["runs"], ttlMs: MINUTE, ...body } })).json;

describe("the tokens of a session", () => {
  test("are created, listed without their secret and revoked, and the audit log has it", async () => {
    const { token, ssh, ...made } = await create({ scopes: ["files", "ports"], ports: [3000], name: "reviewer" });
    expect(ssh).toBeNull();
    expect(token).toMatch(/^berth_st_[0-9a-z]{26}_[\w-]{43}$/);
    expect(made).toMatchObject({
      scopes: ["files", "ports"],
      ports: [3000],
      name: "reviewer",
      state: "active",
      expiresAt: new Date(clock.now() + MINUTE).toISOString(),
    });
    const listed = await app.call("GET", tokensPath());
    expect(listed.json).toEqual({ data: [made] });
    expect(listed.text).not.toContain(token.slice(-43));
    const path = `${tokensPath()}/${made.tokenId}`;
    const revoked = await app.call("DELETE", path);
    expect(revoked.json).toEqual({ ...made, state: "revoked", revokedAt: new Date(clock.now()).toISOString() });
    await clock.advance(SECOND);
    expect((await app.call("DELETE", path)).json).toEqual(revoked.json);
    const audit = await app.store.db.selectFrom("audit").selectAll().where("target", "=", made.tokenId).orderBy("seq").execute();
    expect(audit.map(({ action, actor }) => [action, actor])).toEqual([
      ["token.create", app.keyId],
      ["token.revoke", app.keyId],
    ]);
  });

  test("are created once for one Idempotency-Key", async () => {
    const request = { body: { scopes: ["exec"], ttlMs: MINUTE }, headers: { "idempotency-key": "one" } };
    const first = await app.call("POST", tokensPath(), request);
    expect((await app.call("POST", tokensPath(), request)).text).toBe(first.text);
    expect((await app.call("GET", tokensPath())).json).toMatchObject({ data: [{}] });
  });

  test("are refused with every fault of the request", async () => {
    const cases: [object, string][] = [
      [{ scopes: [], ttlMs: MINUTE }, "scopes"],
      [{ scopes: ["everything"], ttlMs: MINUTE }, "scopes.0"],
      [{ scopes: ["exec", "exec"], ttlMs: MINUTE }, "scopes"],
      [{ scopes: ["exec"], ttlMs: 30 * 24 * 3_600_000 + 1 }, "ttlMs"],
      [{ scopes: ["exec"], ttlMs: 0 }, "ttlMs"],
      [{ scopes: ["exec"] }, "ttlMs"],
      [{ scopes: ["ports"], ttlMs: MINUTE, ports: [0] }, "ports.0"],
      [{ scopes: ["ports"], ttlMs: MINUTE, ports: [] }, "ports"],
      [{ scopes: ["exec"], ttlMs: MINUTE, ports: [3000] }, "ports"],
    ];
    for (const [body, field] of cases) {
      const reply = await app.call("POST", tokensPath(), { body });
      expect([reply.status, (reply.json as { details: { field: string }[] }).details.map((fault) => fault.field)]).toEqual([400, [field]]);
    }
  });

  test("belong to their partner and their session", async () => {
    const { tokenId } = await create();
    const key = await app.addPartner("other");
    for (const [method, path, body] of [
      ["GET", tokensPath()],
      ["POST", tokensPath(), { scopes: ["exec"], ttlMs: MINUTE }],
      ["DELETE", `${tokensPath()}/${tokenId}`],
      ["POST", `/api/b2b/sessions/${session.sessionId}/preview-url`, { port: 3000, ttlMs: MINUTE }],
    ] as const)
      expect((await app.call(method, path, { key, body })).headers.get("x-error-code")).toBe("session_not_found");
    expect((await app.call("DELETE", `${tokensPath()}/tok_x`)).headers.get("x-error-code")).toBe("token_not_found");
    await app.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
    expect((await app.call("POST", tokensPath(), { body: { scopes: ["exec"], ttlMs: MINUTE } })).status).toBe(404);
  });
});

describe("a session token at the partner API", () => {
  const runs = () => `/api/b2b/sessions/${session.sessionId}/runs`;
  const codeOf = async (path: string, key: string, method = "GET") => (await app.call(method, path, { key })).headers.get("x-error-code");

  test("makes the calls of runs of its session, if it has that scope, and no others", async () => {
    const { token } = await create();
    expect((await app.call("GET", runs(), { key: token })).status).toBe(200);
    const { sessionId: other } = (await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "bob" } })).json as Session;
    expect(await codeOf(`/api/b2b/sessions/${other}/runs`, token)).toBe("session_not_found");
    for (const scope of TOKEN_SCOPES.filter((one) => one !== "runs"))
      expect(await codeOf(runs(), (await create({ scopes: [scope] })).token)).toBe("insufficient_scope");

    const all = (await create({ scopes: [...TOKEN_SCOPES] })).token;
    for (const route of Object.values<Route>(ROUTES).filter((one) => !one.public && one.tag !== "Runs")) {
      const path = route.path.replace("{id}", session.sessionId).replaceAll(/\{\w+\}/g, "x");
      expect([path, await codeOf(path, all, route.method)]).toEqual([path, "insufficient_scope"]);
    }
    expect(await codeOf("/api/b2b/unknown", all)).toBe("not_found");
    expect((await app.call("POST", "/console/partner/api/login", { body: { secret: all }, headers: consoleHeaders })).status).toBe(401);
  });

  test("must be the only credential, and works in both headers", async () => {
    const [one, two] = [await create(), await create()];
    const send = (headers: Record<string, string>) => app.call("GET", runs(), { key: null, headers }).then(({ status }) => status);
    expect(await send({ "x-api-key": one.token })).toBe(200);
    expect(await send({ "x-api-key": one.token, authorization: `Bearer ${one.token}` })).toBe(200);
    expect(await send({ "x-api-key": one.token, authorization: `Bearer ${two.token}` })).toBe(401);
    expect(await send({ "x-api-key": one.token, authorization: `Bearer ${app.key}` })).toBe(401);
  });

  test("ends when it is revoked, expires, or its session is destroyed", async () => {
    const [revoked, expired, orphan] = [await create(), await create({ ttlMs: SECOND }), await create()];
    await app.call("DELETE", `${tokensPath()}/${revoked.tokenId}`);
    expect(await codeOf(runs(), revoked.token)).toBe("unauthorized");
    expect(await codeOf(runs(), expired.token)).toBeNull();
    await clock.advance(SECOND);
    expect(await codeOf(runs(), expired.token)).toBe("unauthorized");
    await app.store.db.updateTable("sessions").set({ state: "destroyed" }).execute();
    await clock.advance(5 * SECOND);
    expect(await codeOf(runs(), orphan.token)).toBe("unauthorized");
  });

  const consoleHeaders = { origin: "https://berth.example", "x-berth-console": "1" };
});

test("a preview URL is issued for one port and a limited time, and the audit log has it", async () => {
  const path = `/api/b2b/sessions/${session.sessionId}/preview-url`;
  const issued = await app.call("POST", path, { body: { port: 3000, ttlMs: MINUTE, path: "/a?b" } });
  expect(issued.json).toEqual({
    url: `https://3000-${session.sandboxId.replace("_", "-")}.preview.example/a?b`,
    expiresAt: new Date(clock.now() + MINUTE).toISOString(),
  });
  for (const body of [
    { port: 0, ttlMs: MINUTE },
    { port: 3000, ttlMs: 7 * 24 * 3_600_000 + 1 },
    { port: 3000 },
    { port: 3000, ttlMs: MINUTE, path: "//evil.example" },
    { port: 3000, ttlMs: MINUTE, path: "/\\evil.example" },
    { port: 3000, ttlMs: MINUTE, path: "https://evil.example" },
  ])
    expect((await app.call("POST", path, { body })).status).toBe(400);
  const entries = await app.store.db.selectFrom("audit").select(["action"]).where("action", "=", "session.preview_url").execute();
  expect(entries).toHaveLength(1);
});

test("the console lists the tokens of a session and revokes them", async () => {
  const { tokenId } = await create({ name: "reviewer" });
  const headers = { origin: "https://berth.example", "x-berth-console": "1" };
  const login = await app.call("POST", "/console/partner/api/login", { key: null, body: { secret: app.key }, headers });
  const cookie = login.headers.getSetCookie()[0]!.split(";")[0]!;
  const path = `/console/partner/api/sessions/${session.sessionId}/tokens`;
  const list = async () =>
    ((await app.call("GET", path, { key: null, headers: { ...headers, cookie } })).json as { data: SessionToken[] }).data;
  expect(await list()).toMatchObject([{ tokenId, name: "reviewer", state: "active" }]);
  await app.call("POST", `${path}/${tokenId}/revoke`, { key: null, body: {}, headers: { ...headers, cookie } });
  expect(await list()).toMatchObject([{ tokenId, state: "revoked" }]);
});
