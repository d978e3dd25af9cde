import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ROUTES, scopeOf, type Key, type KeyScope, type KeyWithSecret, type Route, type RotatedKey } from "@berth/contract";
import { DAY, HOUR } from "../../clock.ts";
import { MAX_ACTIVE_KEYS } from "../../keys/own-keys.ts";
import { listAudit } from "../../store/partners/audit.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
beforeEach(async () => {
  app = await startTestApp();
});
afterEach(() => app[Symbol.asyncDispose]());

const create = async (body: object = {}): Promise<KeyWithSecret> => {
  const { status, json } = await app.call("POST", "/api/b2b/keys", { body });
  expect(status).toBe(201);
  return json as KeyWithSecret;
};
const list = async (): Promise<Key[]> => ((await app.call("GET", "/api/b2b/keys")).json as { data: Key[] }).data;
const read = async (key: string): Promise<number> => (await app.call("GET", "/api/b2b/sessions", { key })).status;
const codeOf = async (response: ReturnType<TestApp["call"]>) => {
  const { status, headers } = await response;
  return [status, headers.get("x-error-code")];
};

describe("a partner's keys", () => {
  test("are created with a name, a scope and an expiry, and the key itself is sent once", async () => {
    const expiresAt = new Date(Date.now() + HOUR).toISOString();
    const made = await create({ name: "Reports", scope: "read", expiresAt });
    expect(made).toMatchObject({ name: "Reports", scope: "read", state: "active", expiresAt, lastUsedAt: null, revokedAt: null });
    expect(made.key).toMatch(/^berth_[0-9a-f]{64}$/);
    expect(await read(made.key)).toBe(200);
    const listed = await list();
    expect(listed).toMatchObject([
      { scope: "admin", name: "" },
      { id: made.id, hint: made.hint },
    ]);
    expect(JSON.stringify(listed)).not.toContain(made.key);
  });

  test("have every scope unless the request names one", async () => {
    expect((await create()).scope).toBe("admin");
    expect((await app.call("POST", "/api/b2b/keys")).status).toBe(201);
  });

  test("are validated field by field", async () => {
    const { status, json } = await app.call("POST", "/api/b2b/keys", { body: { name: 5, scope: "root", expiresAt: "soon" } });
    expect(status).toBe(400);
    const { details } = json as { details: { field: string }[] };
    expect(new Set(details.map(({ field }) => field))).toEqual(new Set(["name", "scope", "expiresAt"]));
    const past = await app.call("POST", "/api/b2b/keys", { body: { expiresAt: "2020-01-01T00:00:00Z" } });
    expect(past.json).toMatchObject({ details: [{ field: "expiresAt", message: "Must be a time in the future" }] });
    expect((await app.call("POST", `/api/b2b/keys/${app.keyId}/rotate`, { body: { overlapMs: -1 } })).status).toBe(400);
    for (const expiresAt of ["tomorrow", "2020-01-01T00:00:00Z", 5])
      expect((await app.call("POST", `/api/b2b/keys/${app.keyId}/rotate`, { body: { expiresAt } })).status).toBe(400);
  });

  test("that expire are rotated to keys with the same lifetime, or with the end that the call names", async () => {
    const old = await create({ name: "Backend", expiresAt: new Date(Date.now() + 90 * DAY).toISOString() });
    const rotate = async (body: unknown) => (await app.call("POST", `/api/b2b/keys/${old.id}/rotate`, { body })).json as RotatedKey;
    const sameLifetime = Date.parse((await rotate({})).expiresAt ?? "");
    expect(Math.abs(sameLifetime - Date.now() - 90 * DAY)).toBeLessThan(60_000);
    const expiresAt = new Date(Date.now() + HOUR).toISOString();
    expect((await rotate({ expiresAt })).expiresAt).toBe(expiresAt);
    expect((await rotate({ expiresAt: null })).expiresAt).toBeNull();
  });

  test("are rotated with the same name and scope, and the old key works until the overlap ends", async () => {
    const old = await create({ name: "Backend", scope: "sessions" });
    const { status, json } = await app.call("POST", `/api/b2b/keys/${old.id}/rotate`, { body: { overlapMs: HOUR } });
    const rotated = json as RotatedKey;
    expect([status, rotated.name, rotated.scope]).toEqual([200, "Backend", "sessions"]);
    expect(Date.parse(rotated.previousKeyExpiresAt)).toBeGreaterThan(Date.now() + HOUR - 60_000);
    expect([await read(old.key), await read(rotated.key)]).toEqual([200, 200]);
    await app.call("POST", `/api/b2b/keys/${rotated.id}/rotate`, { body: { overlapMs: 0 } });
    expect(await read(rotated.key)).toBe(401);
    expect(await codeOf(app.call("POST", `/api/b2b/keys/${rotated.id}/rotate`))).toEqual([409, "key_inactive"]);
  });

  test("a retry with the same Idempotency-Key gets the same key", async () => {
    const send = () => app.call("POST", "/api/b2b/keys", { body: {}, headers: { "idempotency-key": "one" } });
    const [first, second] = [await send(), await send()];
    expect(second.json).toEqual(first.json);
    expect(await list()).toHaveLength(2);
  });

  test("stop working at once when they are revoked, and the last admin key cannot be revoked", async () => {
    const { id, key } = await create();
    expect(await read(key)).toBe(200);
    for (let i = 0; i < 2; i++) expect((await app.call("DELETE", `/api/b2b/keys/${id}`)).json).toMatchObject({ id, state: "revoked" });
    expect(await read(key)).toBe(401);
    expect(await codeOf(app.call("DELETE", `/api/b2b/keys/${app.keyId}`))).toEqual([409, "last_admin_key"]);
    expect(await read(app.key)).toBe(200);
  });

  test("of two requests that revoke the last two admin keys at once, one has no effect", async () => {
    const other = await create();
    const responses = await Promise.all([app.keyId, other.id].map((id) => app.call("DELETE", `/api/b2b/keys/${id}`)));
    // The other one is refused, or its own key has just been revoked.
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect([await read(app.key), await read(other.key)].filter((status) => status === 200)).toHaveLength(1);
  });

  test("have a limit", async () => {
    for (let i = 1; i < MAX_ACTIVE_KEYS; i++) await create();
    expect(await codeOf(app.call("POST", "/api/b2b/keys", { body: {} }))).toEqual([409, "key_quota"]);
  });

  test("of another partner cannot be seen, rotated or revoked", async () => {
    const foreign = await app.addPartner("other");
    const [{ id }] = ((await app.call("GET", "/api/b2b/keys", { key: foreign })).json as { data: [Key] }).data;
    expect((await list()).map((own) => own.id)).toEqual([app.keyId]);
    expect(await codeOf(app.call("DELETE", `/api/b2b/keys/${id}`))).toEqual([404, "key_not_found"]);
    expect(await codeOf(app.call("POST", `/api/b2b/keys/${id}/rotate`))).toEqual([404, "key_not_found"]);
    expect(await read(foreign)).toBe(200);
  });

  test("are in the audit log when they change, without the key itself", async () => {
    const { id, key } = await create({ name: "Audited" });
    await app.call("DELETE", `/api/b2b/keys/${id}`);
    const entries = await listAudit(app.store.db, { limit: 10 });
    const own = entries.filter(({ target }) => target === id).map(({ action, actor }) => `${action} by ${actor}`);
    expect(own.toSorted()).toEqual([`key.issue by ${app.keyId}`, `key.revoke by ${app.keyId}`]);
    expect(JSON.stringify(entries)).not.toContain(key);
  });
});

describe("the scope of a key", () => {
  const NEEDED: Record<KeyScope, string[]> = {
    read: [
      "getEgress",
      "getRun",
      "getSession",
      "getSnapshot",
      "getUsage",
      "getVolume",
      "getWebhook",
      "listDeliveries",
      "listEvents",
      "listRuns",
      "listSessionTokens",
      "listSessions",
      "listSnapshots",
      "listVolumes",
      "listWebhooks",
    ],
    sessions: [
      "answerRun",
      "createRun",
      "createSession",
      "createSessionToken",
      "createSnapshot",
      "createVolume",
      "deleteSnapshot",
      "deleteVolume",
      "destroySession",
      "followRun",
      "interruptRun",
      "issueLaunchUrl",
      "issuePreviewUrl",
      "pauseSession",
      "resumeSession",
      "retrySource",
      "revokeSessionToken",
      "sendRunMessage",
      "updateSession",
    ],
    admin: [
      "createKey",
      "createWebhook",
      "deleteWebhook",
      "listKeys",
      "redeliver",
      "revokeKey",
      "rotateKey",
      "rotateWebhookSecret",
      "testWebhook",
      "updateWebhook",
    ],
  };

  test("that each call needs is known", () => {
    const routes: [string, Route][] = Object.entries(ROUTES).filter(([, route]) => !("public" in route));
    const grouped = Object.groupBy(routes, ([, route]) => scopeOf(route));
    const names = Object.fromEntries(Object.entries(grouped).map(([scope, group]) => [scope, group.map(([name]) => name).toSorted()]));
    expect(names).toEqual(NEEDED);
  });

  test.each<KeyScope>(["read", "sessions", "admin"])("%s allows its own calls and those of smaller scopes", async (scope) => {
    const { key } = await create({ scope });
    for (const [needed, names] of Object.entries(NEEDED)) {
      for (const name of names) {
        const { method, path } = (ROUTES as Record<string, Route>)[name]!;
        const { headers } = await app.call(method, path.replaceAll(/\{\w+\}/g, "x"), { key, ...(method === "POST" && { body: {} }) });
        const isAllowed = ["read", "sessions", "admin"].indexOf(scope) >= ["read", "sessions", "admin"].indexOf(needed);
        expect([name, headers.get("x-error-code") === "insufficient_scope"]).toEqual([name, !isAllowed]);
      }
    }
  });
});
