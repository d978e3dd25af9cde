import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSOLE_HEADER } from "@berth/contract/console.ts";
import { HOUR, MINUTE } from "../../clock.ts";
import { issueKey, revokeKey } from "../../keys/keys.ts";
import { issueOperatorToken, revokeOperatorToken } from "../../keys/console/operator-tokens.ts";
import { listAudit } from "../../store/partners/audit.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../testing/test-app.ts";

const OWN = { origin: TEST_BASE_URL, [CONSOLE_HEADER]: "1" };
const CALLS_PER_MINUTE = 60;
const clock = createTestClock();
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ clock, ratePerMinute: CALLS_PER_MINUTE });
});
afterAll(() => app[Symbol.asyncDispose]());

const newToken = () => issueOperatorToken(app.store.db, clock, { name: "Ada", expiresAt: clock.now() + HOUR });

async function signIn(path: string, secret: string): Promise<{ status: number; cookie: string; setCookie: string }> {
  const { status, headers } = await app.call("POST", `${path}/api/login`, { key: null, headers: OWN, body: { secret } });
  const setCookie = headers.get("set-cookie") ?? "";
  return { status, setCookie, cookie: setCookie.split(";")[0]! };
}

const statusOf = async (path: string, cookie: string, headers: Record<string, string> = OWN, method = "GET") =>
  (await app.call(method, path, { key: null, headers: { ...headers, cookie } })).status;

describe("a login to the console", () => {
  test("needs an operator token, sets a cookie that scripts cannot read, and ends when the person signs out", async () => {
    const { token, id } = await newToken();
    const { status, cookie, setCookie } = await signIn("/console", token);
    expect(status).toBe(200);
    expect(await listAudit(app.store.db, { target: id, limit: 2 })).toMatchObject([
      { action: "console.sign_in", actor: id, ip: "127.0.0.1" },
    ]);
    expect(setCookie).toMatch(/^__Host-berth-console=[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure$/);
    expect(await statusOf("/console/api/overview", cookie)).toBe(200);
    const rows = await app.store.db.selectFrom("console_logins").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(cookie.split("=")[1]);
    expect(await statusOf("/console/api/logout", cookie, OWN, "POST")).toBe(200);
    expect(await statusOf("/console/api/overview", cookie)).toBe(401);
  });

  test("ends with its token, and no other secret works", async () => {
    const issued = await newToken();
    const { cookie } = await signIn("/console", issued.token);
    await revokeOperatorToken(app.store.db, clock, issued.id);
    expect(await statusOf("/console/api/overview", cookie)).toBe(401);
    for (const secret of [issued.token, "", app.key, `berth_op_${"0".repeat(64)}`])
      expect((await signIn("/console", secret)).status).toBe(401);
    await clock.advance(2 * MINUTE);
    const other = await signIn("/console", (await newToken()).token);
    await clock.advance(HOUR);
    expect(await statusOf("/console/api/overview", other.cookie)).toBe(401);
  });

  test("of a partner needs a key with the scope admin and ends when the key is revoked", async () => {
    const { key } = await issueKey(app.store.db, clock, "acme", { scope: "sessions" });
    expect((await signIn("/console/partner", key)).status).toBe(403);
    expect((await signIn("/console/partner", (await newToken()).token)).status).toBe(401);
    const admin = await issueKey(app.store.db, clock, "acme");
    const { cookie } = await signIn("/console/partner", admin.key);
    expect(await statusOf("/console/partner/api/overview", cookie)).toBe(200);
    // A cookie of the partner is worth nothing at the operator's console, not even under its name.
    expect(await statusOf("/console/api/overview", cookie)).toBe(401);
    expect(await statusOf("/console/api/overview", cookie.replace("-partner=", "="))).toBe(401);
    await revokeKey(app.store.db, clock, admin.id);
    expect(await statusOf("/console/partner/api/overview", cookie)).toBe(401);
  });

  test("is refused to an address that tries too many secrets", async () => {
    await clock.advance(2 * MINUTE);
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push((await signIn("/console", "wrong")).status);
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429]);
    // Others may come from the same address, which may be that of a proxy.
    expect((await signIn("/console", (await newToken()).token)).status).toBe(200);
    await clock.advance(2 * MINUTE);
  });

  test("is limited to as many calls a minute as an API key", async () => {
    const { cookie } = await signIn("/console", (await newToken()).token);
    for (let i = 0; i < CALLS_PER_MINUTE; i++) expect(await statusOf("/console/api/sessions", cookie)).toBe(200);
    expect(await statusOf("/console/api/sessions", cookie)).toBe(429);
    await clock.advance(MINUTE);
    expect(await statusOf("/console/api/sessions", cookie)).toBe(200);
  });

  test("cannot be used by another site", async () => {
    const { cookie } = await signIn("/console", (await newToken()).token);
    const forged: Record<string, string>[] = [
      {},
      { origin: TEST_BASE_URL },
      { [CONSOLE_HEADER]: "1" },
      { ...OWN, origin: "null" },
      { ...OWN, origin: "https://evil.example" },
      { ...OWN, origin: "https://3000-sbx.berth.example" },
      { ...OWN, "sec-fetch-site": "same-site" },
    ];
    for (const headers of forged) expect([headers, await statusOf("/console/api/logout", cookie, headers, "POST")]).toEqual([headers, 403]);
    expect(await statusOf("/console/api/overview", cookie, { origin: TEST_BASE_URL })).toBe(403);
    expect(await statusOf("/console/api/overview", cookie)).toBe(200);
  });
});
