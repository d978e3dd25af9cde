import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CONSOLE_HEADER } from "@berth/contract/console.ts";
import { HOUR } from "../../../clock.ts";
import { createOidcProvider, type OidcProvider } from "../../../keys/console/oidc-provider.ts";
import { ruleFor } from "../../../keys/console/oidc-rules.ts";
import { listOperatorTokens, revokeOperatorToken } from "../../../keys/console/operator-tokens.ts";
import { CLIENT, startIdentityProvider, type IdentityProvider } from "../../../keys/testing/identity-provider.ts";
import { listAudit } from "../../../store/partners/audit.ts";
import { createTestClock } from "../../../testing/test-clock.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../../testing/test-app.ts";

const ADA = { email: "ada@example.com", email_verified: true };
const allow = ["ada@example.com", "@ops.example.com", "groups=operators"];
const clock = createTestClock(Date.now());
let app: TestApp;
let identity: IdentityProvider;
let rules = allow;

beforeAll(async () => {
  identity = await startIdentityProvider();
  app = await startTestApp({ clock, oidc: { ...openProvider(identity.issuer), hasRule: (rule) => rules.includes(rule) } });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await identity[Symbol.asyncDispose]();
});
afterEach(async () => {
  [identity.claims, identity.fault, rules] = [{}, "none", allow];
  // Sign-ins of an address are limited.
  await clock.advance(HOUR);
});

const openProvider = (issuer: string): OidcProvider =>
  createOidcProvider({ issuer, ...CLIENT, allow, redirectUri: `${TEST_BASE_URL}/console/oidc/callback` });

interface Answer {
  status: number;
  location: string;
  cookies: string[];
}

async function get(path: string, cookie = ""): Promise<Answer> {
  const url = path.startsWith("http") ? path : app.base + path;
  const { status, headers } = await fetch(url, { redirect: "manual", headers: { cookie } });
  return { status, location: headers.get("location") ?? "", cookies: headers.getSetCookie() };
}

const pathOf = (url: string): string => url.slice(TEST_BASE_URL.length);
const valueOf = (line: string): string => line.split(";")[0]!;

// Goes to the provider and comes back, as a browser does. `change` alters the address of the callback.
async function signIn(change: (callback: string) => string = (callback) => callback): Promise<Answer> {
  const left = await get("/console/oidc/login");
  const back = await get(left.location);
  return get(change(pathOf(back.location)), valueOf(left.cookies[0]!));
}

const overview = async (cookie: string) =>
  (await app.call("GET", "/console/api/overview", { key: null, headers: { origin: TEST_BASE_URL, [CONSOLE_HEADER]: "1", cookie } })).status;

test("an allowed person signs in, is named in the audit log, and ends with the row that the command line revokes", async () => {
  identity.claims = ADA;
  const left = await get("/console/oidc/login");
  expect(left.location).toMatch(/code_challenge_method=S256/);
  expect(left.cookies[0]).toMatch(/^__Host-berth-console-oidc=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
  const { status, location, cookies } = await signIn();
  expect([status, location]).toEqual([303, "/console"]);
  const login = cookies.find((line) => line.startsWith("__Host-berth-console="))!;
  expect(login).toMatch(/HttpOnly; SameSite=Strict; Secure$/);
  expect(await overview(valueOf(login))).toBe(200);

  await signIn();
  const tokens = await listOperatorTokens(app.store.db, clock);
  expect(tokens).toMatchObject([{ name: "ada@example.com", state: "active" }]);
  expect(await listAudit(app.store.db, { target: tokens[0]!.id, limit: 1 })).toMatchObject([{ action: "console.sign_in" }]);
  await revokeOperatorToken(app.store.db, clock, tokens[0]!.id);
  expect(await overview(valueOf(login))).toBe(401);
});

test("a login ends when the rule that allowed it is removed from the configuration", async () => {
  identity.claims = { groups: ["users", "operators"] };
  const login = valueOf((await signIn()).cookies.find((line) => line.startsWith("__Host-berth-console="))!);
  expect(await overview(login)).toBe(200);
  rules = ["ada@example.com"];
  expect(await overview(login)).toBe(401);
});

const now = Math.floor(Date.now() / 1000);
test.each([
  ["another nonce", { ...ADA, nonce: "other" }, "invalid"],
  ["another audience", { ...ADA, aud: "someone-else" }, "invalid"],
  ["another issuer", { ...ADA, iss: "http://127.0.0.1:1" }, "invalid"],
  ["a time that is over", { ...ADA, iat: now - 7200, exp: now - 3600 }, "invalid"],
  ["another domain", { email: "ada@evil.example", email_verified: true }, "not_allowed"],
  ["a domain that only ends alike", { email: "ada@notops.example.com", email_verified: true }, "not_allowed"],
  ["an address that is not verified", { email: "ada@example.com" }, "not_allowed"],
])("an ID token with %s is refused", async (_name, claims, fault) => {
  identity.claims = claims;
  const { status, location, cookies } = await signIn();
  expect([status, location]).toEqual([303, `/console?sign-in=${fault}`]);
  expect(cookies.filter((line) => line.startsWith("__Host-berth-console="))).toEqual([]);
});

test.each([
  ["other key", "invalid"],
  ["unsigned", "invalid"],
  ["denies", "denied"],
] as const)("a provider that answers with the fault %s signs no one in", async (fault, expected) => {
  identity.claims = ADA;
  identity.fault = fault;
  expect((await signIn()).location).toBe(`/console?sign-in=${expected}`);
});

test("a callback without the cookie of its own sign-in is refused", async () => {
  identity.claims = ADA;
  expect((await signIn((path) => path.replace(/state=[^&]*/, "state=other"))).location).toBe("/console?sign-in=invalid");
  const left = await get("/console/oidc/login");
  const back = pathOf((await get(left.location)).location);
  const other = valueOf((await get("/console/oidc/login")).cookies[0]!);
  expect((await get(back)).location).toBe("/console?sign-in=expired");
  expect((await get(back, other)).location).toBe("/console?sign-in=invalid");
  expect((await get(back, "__Host-berth-console-oidc=v1.forged")).location).toBe("/console?sign-in=expired");
  await clock.advance(HOUR);
  expect((await get(back, valueOf(left.cookies[0]!))).location).toBe("/console?sign-in=expired");
});

test("a provider that does not answer fails the sign-in and is asked again the next time", async () => {
  const gone = await startIdentityProvider();
  const provider = openProvider(gone.issuer);
  gone.fault = "silent";
  await expect(provider.start()).rejects.toMatchObject({ fault: "unreachable" });
  gone.fault = "none";
  expect((await provider.start()).url).toContain("/authorize");
  await gone[Symbol.asyncDispose]();
});

test("rules compare addresses without case, and claims by value", () => {
  const of = (claims: object) => ruleFor(allow, claims as Record<string, unknown>);
  expect(of({ email: "ADA@Example.com", email_verified: "true" })).toBe("ada@example.com");
  expect(of({ email: "x@ops.example.com", email_verified: true })).toBe("@ops.example.com");
  expect(of({ groups: "operators" })).toBe("groups=operators");
  expect(of({ groups: [{ name: "operators" }], email: "ada@example.com", email_verified: false })).toBeNull();
});
