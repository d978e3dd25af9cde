import { describe, expect, test } from "vitest";
import { openGateway } from "../testing/test-gateway.ts";
import type { Reply } from "../testing/test-requests.ts";

const attributesOf = (line: string) =>
  line
    .split("; ")
    .slice(1)
    .toSorted((a, b) => a.localeCompare(b));

describe("a launch URL", () => {
  test("is exchanged for a cookie and redirects to an address without secrets", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    const { status, headers } = await gateway.send(pathname + search);
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

  test("sets a cookie that works in a partner's frame on https", async () => {
    await using gateway = await openGateway({ https: true });
    const { pathname, search } = gateway.launchUrl();
    const { headers } = await gateway.send(pathname + search);
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

  test("shows a page, never JSON, when it cannot be used", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    const forged = search.replace(/sig=.{43}/, `sig=${"A".repeat(43)}`);
    expect(statusAndTitle(await gateway.send(pathname))).toEqual([400, "This link is incomplete"]);
    expect(statusAndTitle(await gateway.send("/workspace"))).toEqual([400, "This link is incomplete"]);
    expect(statusAndTitle(await gateway.send(`${pathname + search}&x=1`))).toEqual([400, "This link is incomplete"]);
    expect(statusAndTitle(await gateway.send(pathname + forged))).toEqual([403, "This link is not valid"]);
    expect(statusAndTitle(await gateway.send(pathname + search, { headers: { "sec-purpose": "prefetch;prerender" } }))).toEqual([
      503,
      "This link cannot be preloaded",
    ]);
    expect(statusAndTitle(await gateway.send(pathname + search, { method: "POST" }))).toEqual([405, "Open this link in a browser"]);
    expect(await gateway.send(pathname + search, { method: "HEAD" })).toMatchObject({ status: 405, body: "", headers: { allow: "GET" } });
    await gateway.clock.advance(300_000);
    expect(statusAndTitle(await gateway.send(pathname + search))).toEqual([410, "This link has expired"]);
  });

  test("opens no destroyed session and no session of a suspended partner", async () => {
    await using gateway = await openGateway();
    const { pathname, search } = gateway.launchUrl();
    gateway.partner.state = "suspended";
    expect(statusAndTitle(await gateway.send(pathname + search))).toEqual([403, "Access is suspended"]);
    gateway.partner.state = "active";
    gateway.setStatus("destroyed");
    expect(statusAndTitle(await gateway.send(pathname + search))).toEqual([410, "This workspace no longer exists"]);
  });

  test("opens a paused session", async () => {
    await using gateway = await openGateway();
    gateway.setStatus("paused");
    const cookie = await gateway.signIn();
    expect(statusAndTitle(await gateway.send(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } }))).toEqual([
      200,
      "Your workspace is paused",
    ]);
  });
});

describe("the workspace's URL", () => {
  test("requires the intact cookie of its own sandbox", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const address = `/workspace/${gateway.sandboxId}/`;
    const title = "This browser has no access to the workspace";
    expect(statusAndTitle(await gateway.send(address))).toEqual([401, title]);
    expect(statusAndTitle(await gateway.send(address, { headers: { cookie: `${cookie}x` } }))).toEqual([401, title]);
    expect(statusAndTitle(await gateway.send(address, { headers: { cookie: cookie.slice(0, -3) } }))).toEqual([401, title]);
    const stolen = `berth-sbx_00000000000000000000000000=${cookie.split("=")[1]}`;
    expect(statusAndTitle(await gateway.send("/workspace/sbx_00000000000000000000000000/", { headers: { cookie: stolen } }))).toEqual([
      401,
      title,
    ]);
    expect((await gateway.send(address, { headers: { cookie: `other=1; ${cookie}` } })).status).toBe(200);
    expect(await gateway.send(address.slice(0, -1))).toMatchObject({ status: 308, headers: { location: address } });
  });

  test("denies access after suspension, destruction and cookie expiry", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const open = () => gateway.send(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    gateway.partner.state = "suspended";
    gateway.setStatus("running");
    expect(statusAndTitle(await open())).toEqual([403, "Access is suspended"]);
    expect(await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } })).toMatchObject({ status: 401 });
    gateway.partner.state = "active";
    gateway.setStatus("destroyed");
    const destroyed = await open();
    expect(statusAndTitle(destroyed)).toEqual([410, "This workspace no longer exists"]);
    expect(destroyed.headers["set-cookie"]![0]).toContain("Max-Age=0");
    gateway.setStatus("running");
    await gateway.clock.advance(7 * 24 * 3_600_000);
    expect(statusAndTitle(await open())).toEqual([401, "This browser has no access to the workspace"]);
  });

  test("applies another server's suspension within three seconds", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3_000);
    expect((await gateway.send(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } })).status).toBe(403);
  });

  test("evicts the oldest cookies, so that the browser's headers stay below the limit", async () => {
    await using gateway = await openGateway();
    const others = Array.from(
      { length: 45 },
      (_, i) => `berth-sbx_${String(i).padStart(26, "0")}=${(1000 + i).toString(36)}.${"A".repeat(43)}`,
    );
    const { pathname, search } = gateway.launchUrl();
    const { headers } = await gateway.send(pathname + search, { headers: { cookie: others.join("; ") } });
    const removed = headers["set-cookie"]!.filter((line) => line.includes("Max-Age=0")).map((line) => line.split("=")[0]);
    expect(removed).toEqual(others.slice(0, 6).map((pair) => pair.split("=")[0]));
  });
});

// Also checks what all pages have in common.
function statusAndTitle(response: Reply): [number, string | undefined] {
  expect(response.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  expect(response.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(response.body).not.toContain("<script");
  return [response.status, /<h1>(.*)<\/h1>/.exec(response.body)?.[1]];
}
