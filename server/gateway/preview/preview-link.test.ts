import { describe, expect, test } from "vitest";
import { openGateway } from "../testing/test-gateway.ts";
import { cookieFor, linkTo } from "../testing/test-preview.ts";

describe("a preview", () => {
  test("opens with a ticket from the workspace, on its own host and with its own cookie", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(`${request.url} for ${request.headers.host}`));
    const link = await linkTo(gateway, { port: 5173, path: "/app?x=1" });
    expect(link.host).toBe(`5173-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`);
    const opened = await gateway.send(link.pathname + link.search, { headers: { host: link.host } });
    expect(opened).toMatchObject({
      status: 303,
      headers: { location: "/app?x=1", "cache-control": "no-store", "referrer-policy": "no-referrer" },
    });
    const lines = opened.headers["set-cookie"]!;
    expect(lines.map((line) => line.split("=")[0])).toEqual(["__Host-berth-preview", "berth-preview"]);
    expect(lines[0]).toMatch(/; Path=\/; HttpOnly; Secure; SameSite=None; Partitioned$/);
    for (const line of lines) {
      const page = await gateway.send("/app?x=1", { headers: { host: link.host, cookie: line.split(";")[0]! } });
      expect(page.body).toBe("/ports/5173/app?x=1 for localhost:5173");
      expect(page.headers["content-security-policy"]).toBe(`frame-ancestors 'self' https://app.acme.example ${gateway.origin}`);
    }
  });

  test("rejects the cookies of other ports and of the workspace, and links that are expired, altered or for another host", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end("reached"));
    const link = await linkTo(gateway, { port: 5173 });
    const target = link.pathname + link.search;
    const host = link.host;
    const status = async (path: string, headers: Record<string, string>) => (await gateway.send(path, { headers })).status;
    const cookie = await cookieFor(gateway, 5173);
    expect(await status("/", { host, cookie })).toBe(200);
    expect(await status("/", { host })).toBe(401);
    expect(await status("/", { host, cookie: await gateway.signIn() })).toBe(401);
    expect(await status("/", { host: host.replace("5173", "3000"), cookie })).toBe(401);
    expect(await status(target, { host: host.replace("5173", "3000") })).toBe(401);
    expect(await status(target.replace("path=%2F", "path=%2Fadmin"), { host })).toBe(401);
    expect(await status(`${target}&x=1`, { host })).toBe(401);
    expect(await status(target, { host, "sec-purpose": "prefetch" })).toBe(503);
    expect(await status("/.berth/else", { host, cookie })).toBe(404);
    await gateway.clock.advance(60_000);
    expect(await status(target, { host })).toBe(401);
  });

  test("can be shared by a link that opens this port only, until its end or the end of the session", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(`reached ${request.url}`));
    const link = await linkTo(gateway, { port: 5173, path: "/app", shareHours: 2 });
    const target = link.pathname + link.search;
    const { host } = link;
    const status = async (path: string, headers: Record<string, string>) => (await gateway.send(path, { headers })).status;
    // A visitor has no other cookie. The link works more than once, and longer than the workspace's own.
    await gateway.clock.advance(30 * 60_000);
    const opened = await gateway.send(target, { headers: { host } });
    expect(opened).toMatchObject({ status: 303, headers: { location: "/app" } });
    const [line = ""] = opened.headers["set-cookie"]!;
    expect(line).toContain(`; Max-Age=${90 * 60};`);
    const cookie = line.split(";")[0]!;
    expect((await gateway.send("/app", { headers: { host, cookie } })).body).toBe("reached /ports/5173/app");

    // Nothing else opens: other ports, the workspace, its files and terminals, and more links.
    expect(await status("/", { host: host.replace("5173", "3000"), cookie })).toBe(401);
    expect(await status(target, { host: host.replace("5173", "3000") })).toBe(401);
    const value = cookie.slice(cookie.indexOf("=") + 1);
    const workspaceCookie = `berth-${gateway.sandboxId}=${value}; __Host-berth-${gateway.sandboxId}=${value}`;
    for (const path of ["session", "api/files?path=", "api/terminals"])
      for (const held of [cookie, workspaceCookie])
        expect(await status(`/workspace/${gateway.sandboxId}/${path}`, { cookie: held })).toBe(401);
    const headers = { cookie: workspaceCookie, origin: gateway.origin };
    const again = await gateway.send(`/workspace/${gateway.sandboxId}/preview`, { method: "POST", headers, body: '{"port":5173}' });
    expect(again.status).toBe(401);

    // Neither the link nor the cookie can be extended.
    const expires = Number(link.searchParams.get("expires"));
    expect(await status(target.replace(String(expires), String(expires + 3_600_000)), { host })).toBe(401);
    expect(await status(target.replace("kind=shared", "kind=own"), { host })).toBe(401);
    const longer = cookie.replace(expires.toString(36), (expires + 3_600_000).toString(36));
    expect(longer).not.toBe(cookie);
    expect(await status("/", { host, cookie: longer })).toBe(401);
    expect(await status("/", { host, cookie: cookie.replace(`-${expires.toString(36)}`, "") })).toBe(401);
    const own = await linkTo(gateway, { port: 5173 });
    expect(await status((own.pathname + own.search).replace("kind=own", "kind=shared"), { host })).toBe(401);

    await gateway.clock.advance(90 * 60_000);
    expect(await status("/", { host, cookie })).toBe(401);
    expect(await status(target, { host })).toBe(401);
  });

  test("is shared for a limited time, and not after the session has ended", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end("reached"));
    const headers = { cookie: await gateway.signIn(), origin: gateway.origin };
    const share = (shareHours: unknown) =>
      gateway.send(`/workspace/${gateway.sandboxId}/preview`, { method: "POST", headers, body: JSON.stringify({ port: 80, shareHours }) });
    expect((await share(24)).status).toBe(200);
    expect((await share(25)).status).toBe(403);
    for (const hours of [0, -1, 1.5, "2", null]) expect((await share(hours)).status).toBe(400);
    const link = await linkTo(gateway, { port: 80, shareHours: 1 });
    const opened = await gateway.send(link.pathname + link.search, { headers: { host: link.host } });
    const cookie = opened.headers["set-cookie"]![0]!.split(";")[0]!;
    gateway.setStatus("destroyed");
    expect((await gateway.send("/", { headers: { host: link.host, cookie } })).body).not.toContain("reached");
  });

  test("is issued a link only by the workspace, and only for valid ports and paths", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const send = (body: string, headers: Record<string, string> = { cookie, origin: gateway.origin }) =>
      gateway.send(`/workspace/${gateway.sandboxId}/preview`, { method: "POST", headers, body });
    expect((await send('{"port":80}', { cookie })).status).toBe(403);
    expect((await send('{"port":80}', { origin: gateway.origin })).status).toBe(401);
    for (const body of [
      "",
      "[]",
      '{"port":0}',
      '{"port":65536}',
      '{"port":"80"}',
      '{"port":80,"path":"//evil.example"}',
      '{"port":80,"path":"/\\\\evil.example"}',
      '{"port":80,"path":"x"}',
    ])
      expect((await send(body)).status).toBe(400);
    expect((await send(`{"port":80,"path":"/${"x".repeat(9000)}"}`)).status).toBe(413);
  });
});
