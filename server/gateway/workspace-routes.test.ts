import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { STREAM_KEEP_ALIVE_MS } from "@berth/contract/workspace/workspace.ts";
import { openGateway } from "./testing/test-gateway.ts";
import { openStream } from "./testing/test-requests.ts";

describe("the workspace page", () => {
  test("is served with a content security policy that trusts no sandbox, and so are its assets", async () => {
    const appFolder = mkdtempSync(join(tmpdir(), "berth-app-"));
    mkdirSync(join(appFolder, "assets"));
    writeFileSync(join(appFolder, "index.html"), "<!doctype html><title>app</title>");
    writeFileSync(join(appFolder, "assets/main-abc.js"), "console.log(1);".repeat(200));
    await using gateway = await openGateway({ appFolder });
    const cookie = await gateway.signIn();
    const page = await gateway.send(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    expect([page.status, page.body]).toEqual([200, "<!doctype html><title>app</title>"]);
    expect(page.headers["content-security-policy"]).toContain(`script-src ${gateway.origin}/workspace/assets/;`);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'self' https://app.acme.example");
    const asset = await gateway.send("/workspace/assets/main-abc.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(asset).toMatchObject({
      status: 200,
      headers: { "content-encoding": "br", "cache-control": "public, max-age=31536000, immutable" },
    });
    for (const path of ["index.html", "assets/", "assets/../index.html", "assets/%2e%2e/index.html", "../package.json"])
      expect((await gateway.send(`/workspace/${path}`)).status).toBe(404);
    rmSync(appFolder, { recursive: true });
  });

  test("can be installed as an app that starts at a URL without a secret", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const path = `/workspace/${gateway.sandboxId}/`;
    const manifest = await gateway.send(`${path}manifest.webmanifest`, { headers: { cookie, "sec-fetch-dest": "manifest" } });
    expect(manifest).toMatchObject({ status: 200, headers: { "content-type": "application/manifest+json" } });
    expect(JSON.parse(manifest.body)).toMatchObject({ start_url: path, scope: path, short_name: "Acme" });
    expect((await gateway.send(`${path}manifest.webmanifest`)).status).toBe(401);
  });
});

describe("the workspace's session", () => {
  test("is described in every state to browsers with the cookie", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const send = async () =>
      JSON.parse((await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } })).body) as object;
    expect(await send()).toEqual({
      visitor: { role: "editor", displayName: null },
      hasSupportVisit: false,
      sessionId: gateway.session.id,
      sandboxId: gateway.sandboxId,
      status: "running",
      reason: null,
      generation: 1,
      partnerName: "Acme",
      settingsOwner: expect.stringMatching(/^[\w-]{22}$/),
      embedOrigins: ["https://app.acme.example"],
      branding: { logo: null, accent: null, hideAgent: false, offerSsh: false },
      expiresAtMs: gateway.session.expiresAt,
      idlePause: null,
      source: null,
      isSettingUp: false,
      onTimeout: "pause",
      extendUntilMs: null,
      autoResume: false,
      serverNowMs: gateway.clock.now(),
      previewUrl: `http://{port}-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`,
    });
    gateway.session.stopReason = "timeout";
    gateway.setStatus("paused");
    expect(await send()).toMatchObject({ status: "paused", reason: "timeout", expiresAtMs: null });
    gateway.setStatus("destroyed");
    expect(await send()).toMatchObject({ status: "destroyed" });
    expect(await gateway.send(`/workspace/${gateway.sandboxId}/session`)).toMatchObject({
      status: 401,
      headers: { "x-error-code": "unauthorized" },
    });
    expect(await gateway.send(`/workspace/${gateway.sandboxId}/constructor`, { headers: { cookie } })).toMatchObject({ status: 404 });
    expect(
      await gateway.send(`/workspace/${gateway.sandboxId}/session`, { method: "PUT", headers: { cookie, origin: gateway.origin } }),
    ).toMatchObject({
      status: 405,
      headers: { allow: "GET" },
    });
  });

  test("says when it will be paused because it is not used, and receives that it is used", async () => {
    const noted: string[] = [];
    const activity = { note: ({ id }: { id: string }) => void noted.push(id), begin: () => ({ [Symbol.dispose]() {} }) };
    await using gateway = await openGateway({ activity });
    const cookie = await gateway.signIn();
    const idleAt = gateway.clock.now() + 8 * 60_000;
    Object.assign(gateway.session, { idleTimeoutMs: 8 * 60_000, idleAt });
    gateway.setStatus("running");
    const described = await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } });
    expect(JSON.parse(described.body)).toMatchObject({ idlePause: { atMs: idleAt, warnAtMs: idleAt - 4 * 60_000 } });
    const report = async (headers: Record<string, string>) =>
      (await gateway.send(`/workspace/${gateway.sandboxId}/activity`, { method: "POST", headers })).status;
    expect([await report({ cookie }), await report({ origin: gateway.origin })]).toEqual([403, 401]);
    expect(noted).toEqual([]);
    expect(await report({ cookie, origin: gateway.origin })).toBe(204);
    expect(noted).toEqual([gateway.session.id]);
    gateway.session.stopReason = "idle";
    gateway.setStatus("paused");
    const paused = await gateway.send(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } });
    expect(JSON.parse(paused.body)).toMatchObject({ status: "paused", reason: "idle", idlePause: null });
  });

  test("is streamed immediately, after every change, and until it is destroyed", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    expect(await stream.next()).toContain('"status":"running"');
    gateway.setStatus("paused");
    expect(await stream.next()).toContain('"status":"paused"');
    await gateway.clock.advance(STREAM_KEEP_ALIVE_MS);
    expect(await stream.next()).toBe(":");
    gateway.setStatus("destroyed");
    expect(await stream.next()).toContain('"status":"destroyed"');
    expect(await stream.next()).toBe("end");
  });

  test("belongs to the opening whose cookie it has, until it is closed", async () => {
    const seen: object[] = [];
    const openings = {
      add: (opening: object) => void seen.push(opening),
      connect: ({ openedAt }: { openedAt: number }) => {
        seen.push({ connected: openedAt });
        return { [Symbol.dispose]: () => void seen.push({ closed: openedAt }) };
      },
      flush: async () => {},
    };
    await using gateway = await openGateway({ openings });
    const openedAt = gateway.clock.now();
    const cookie = await gateway.signIn();
    await gateway.clock.advance(STREAM_KEEP_ALIVE_MS);
    const stream = await openStream(gateway, cookie);
    gateway.setStatus("destroyed");
    while ((await stream.next()) !== "end");
    await expect.poll(() => seen).toHaveLength(3);
    const { id: sessionId } = gateway.session;
    expect(seen).toMatchObject([
      { sessionId, openedAt, address: "127.0.0.1", role: "editor" },
      { connected: openedAt },
      { closed: openedAt },
    ]);
  });

  test("limits the number of streams and counts them in the metrics", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const path = `/workspace/${gateway.sandboxId}/session/stream`;
    for (let i = 0; i < 100; i++) await openStream(gateway, cookie);
    expect((await gateway.send(path, { headers: { cookie } })).status).toBe(429);
    const metrics = await gateway.registry.metrics();
    expect(metrics).toContain('berth_gateway_open{kind="streams"} 100');
    expect(metrics).toContain('berth_gateway_requests_total{area="workspace",status="429"} 1');
  });

  test("ends its stream when the cookie expires", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    await gateway.clock.advance(7 * 24 * 3_600_000 - 1.5 * STREAM_KEEP_ALIVE_MS);
    const stream = await openStream(gateway, cookie);
    await stream.next();
    await gateway.clock.advance(STREAM_KEEP_ALIVE_MS);
    expect(await stream.next()).toBe(":");
    await gateway.clock.advance(STREAM_KEEP_ALIVE_MS);
    expect(await stream.next()).toBe("end");
  });

  test("ends its streams when the partner is suspended", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    await stream.next();
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3_000);
    expect(await stream.next()).toBe("end");
  });
});

describe("the daemon's API behind the cookie", () => {
  test("replies with a page to a browser that navigates to it", async () => {
    await using gateway = await openGateway();
    const title = async (path: string, cookie: string) =>
      /<h1>(.*)<\/h1>/.exec((await gateway.send(path, { headers: { accept: "text/html,*/*", cookie } })).body)?.[1];
    const cookie = await gateway.signIn();
    const file = `/workspace/${gateway.sandboxId}/api/files/content?path=a`;
    expect(await title(file, "")).toBe("This browser has no access to the workspace");
    expect(await title(file, cookie)).toBe("The workspace does not respond");
    expect(await title(`/workspace/${gateway.sandboxId}/nothing`, cookie)).toBe("Page not found");
    gateway.setStatus("paused");
    expect(await title(file, cookie)).toBe("Your workspace is paused");
  });

  test("accepts requests from our own pages only", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(`${request.method} ${request.url}`));
    const cookie = await gateway.signIn();
    const own = { cookie, origin: gateway.origin };
    const path = `/workspace/${gateway.sandboxId}/api/files/content?path=a%2Fb`;
    const send = async (method: string, headers: Record<string, string>) => (await gateway.send(path, { method, headers })).status;
    expect((await gateway.send(path, { method: "PUT", headers: own, body: "x" })).body).toBe("PUT /files/content?path=a%2Fb");
    expect(await send("GET", { cookie })).toBe(200);
    expect(await send("GET", { cookie, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await send("GET", { cookie, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await send("GET", { cookie, "sec-fetch-dest": "script" })).toBe(403);
    expect(await send("GET", { cookie, "service-worker": "script" })).toBe(403);
    expect(await send("PUT", { cookie })).toBe(403);
    expect(await send("PUT", { cookie, origin: "null" })).toBe(403);
    expect(await send("PUT", { cookie, origin: `${gateway.origin}.evil.example` })).toBe(403);
    expect(await send("PUT", { cookie, origin: "https://app.acme.example" })).toBe(403);
    expect(await send("PUT", { origin: gateway.origin })).toBe(401);
    gateway.setStatus("paused");
    expect(await send("GET", own)).toBe(409);
  });
});
