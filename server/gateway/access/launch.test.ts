import { describe, expect, it } from "vitest";
import { openGateway, type Answer } from "../testing/test-gateway.ts";

const attributesOf = (line: string) =>
  line
    .split("; ")
    .slice(1)
    .toSorted((a, b) => a.localeCompare(b));

describe("a launch URL", () => {
  it("is exchanged for a cookie on an address without a secret", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    const { status, headers } = await gateway.ask(pathname + search);
    expect(status).toBe(303);
    expect(headers).toMatchObject({
      location: `/workspace/${gateway.sandboxId}/`,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
    expect(headers["set-cookie"]).toHaveLength(1);
    expect(headers["set-cookie"]![0]).toMatch(new RegExp(`^berth-${gateway.sandboxId}=`));
    expect(attributesOf(headers["set-cookie"]![0]!)).toEqual(["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax"]);
  });

  it("gives a cookie that works in a partner's frame on https", async () => {
    await using gateway = await openGateway({ https: true });
    const { pathname, search } = gateway.launchUrl();
    const { headers } = await gateway.ask(pathname + search);
    expect(headers["set-cookie"]![0]).toMatch(new RegExp(`^__Host-berth-${gateway.sandboxId}=`));
    expect(attributesOf(headers["set-cookie"]![0]!)).toEqual([
      "HttpOnly",
      "Max-Age=604800",
      "Partitioned",
      "Path=/",
      "SameSite=None",
      "Secure",
    ]);
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'self' https://app.acme.example");
  });

  it("meets a page, never JSON, when it cannot be used", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    const forged = search.replace(/sig=.{43}/, `sig=${"A".repeat(43)}`);
    expect(workspacePage(await gateway.ask(pathname))).toEqual([400, "This link is incomplete"]);
    expect(workspacePage(await gateway.ask("/workspace"))).toEqual([400, "This link is incomplete"]);
    expect(workspacePage(await gateway.ask(`${pathname + search}&x=1`))).toEqual([400, "This link is incomplete"]);
    expect(workspacePage(await gateway.ask(pathname + forged))).toEqual([403, "This link is not valid"]);
    expect(workspacePage(await gateway.ask(pathname + search, { headers: { "sec-purpose": "prefetch;prerender" } }))).toEqual([
      503,
      "Not opened in advance",
    ]);
    expect(workspacePage(await gateway.ask(pathname + search, { method: "POST" }))).toEqual([405, "This link can only be opened"]);
    expect(await gateway.ask(pathname + search, { method: "HEAD" })).toMatchObject({ status: 405, body: "", headers: { allow: "GET" } });
    await gateway.clock.advance(300_000);
    expect(workspacePage(await gateway.ask(pathname + search))).toEqual([410, "This link has expired"]);
  });

  it("opens nothing of a destroyed session or a suspended partner, whenever it was made", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    gateway.partner.state = "suspended";
    expect(workspacePage(await gateway.ask(pathname + search))).toEqual([403, "Access is suspended"]);
    gateway.partner.state = "active";
    gateway.become("destroyed");
    expect(workspacePage(await gateway.ask(pathname + search))).toEqual([410, "This workspace is gone"]);
  });

  it("opens a paused session too", async () => {
    await using gateway = await openGateway();
    gateway.become("paused");
    const cookie = await gateway.signIn();
    expect(workspacePage(await gateway.ask(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } }))).toEqual([
      200,
      "Your workspace is paused",
    ]);
  });
});

describe("the workspace's address", () => {
  it("needs the cookie of its own sandbox, whole", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const address = `/workspace/${gateway.sandboxId}/`;
    const title = "Open your workspace from where you found it";
    expect(workspacePage(await gateway.ask(address))).toEqual([401, title]);
    expect(workspacePage(await gateway.ask(address, { headers: { cookie: `${cookie}x` } }))).toEqual([401, title]);
    expect(workspacePage(await gateway.ask(address, { headers: { cookie: cookie.slice(0, -3) } }))).toEqual([401, title]);
    const stolen = `berth-sbx_00000000000000000000000000=${cookie.split("=")[1]}`;
    expect(workspacePage(await gateway.ask("/workspace/sbx_00000000000000000000000000/", { headers: { cookie: stolen } }))).toEqual([
      401,
      title,
    ]);
    expect((await gateway.ask(address, { headers: { cookie: `other=1; ${cookie}` } })).status).toBe(200);
    expect(await gateway.ask(address.slice(0, -1))).toMatchObject({ status: 308, headers: { location: address } });
  });

  it("is closed by suspension at once, by destruction for good, and the cookie ages", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const open = () => gateway.ask(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    gateway.partner.state = "suspended";
    gateway.become("running");
    expect(workspacePage(await open())).toEqual([403, "Access is suspended"]);
    expect(await gateway.ask(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } })).toMatchObject({ status: 401 });
    gateway.partner.state = "active";
    gateway.become("destroyed");
    const closeReason = await open();
    expect(workspacePage(closeReason)).toEqual([410, "This workspace is gone"]);
    expect(closeReason.headers["set-cookie"]![0]).toContain("Max-Age=0");
    gateway.become("running");
    await gateway.clock.advance(7 * 24 * 3_600_000);
    expect(workspacePage(await open())).toEqual([401, "Open your workspace from where you found it"]);
  });

  it("hears of a suspension that was made elsewhere within seconds", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3_000);
    expect((await gateway.ask(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } })).status).toBe(403);
  });

  it("keeps a browser's cookies few enough for its requests to be read", async () => {
    await using gateway = await openGateway();
    const others = Array.from(
      { length: 45 },
      (_, i) => `berth-sbx_${String(i).padStart(26, "0")}=${(1000 + i).toString(36)}.${"A".repeat(43)}`,
    );
    const { pathname, search } = gateway.launchUrl();
    const { headers } = await gateway.ask(pathname + search, { headers: { cookie: others.join("; ") } });
    const removed = headers["set-cookie"]!.filter((line) => line.includes("Max-Age=0")).map((line) => line.split("=")[0]);
    expect(removed).toEqual(others.slice(0, 6).map((pair) => pair.split("=")[0]));
  });
});

// Status and title of a page, after a look at what every page has in common.
function workspacePage(answer: Answer): [number, string | undefined] {
  expect(answer.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  expect(answer.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(answer.body).not.toContain("<script");
  return [answer.status, /<h1>(.*)<\/h1>/.exec(answer.body)?.[1]];
}
