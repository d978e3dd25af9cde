import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openGateway, openStream } from "./testing/test-gateway.ts";

describe("the workspace page", () => {
  it("comes from the server with a policy that trusts no sandbox, and so do its parts", async () => {
    const appFolder = mkdtempSync(join(tmpdir(), "berth-app-"));
    mkdirSync(join(appFolder, "assets"));
    writeFileSync(join(appFolder, "index.html"), "<!doctype html><title>app</title>");
    writeFileSync(join(appFolder, "assets/main-abc.js"), "console.log(1);".repeat(200));
    await using gateway = await openGateway({ appFolder });
    const cookie = await gateway.signIn();
    const page = await gateway.ask(`/workspace/${gateway.sandboxId}/`, { headers: { cookie } });
    expect([page.status, page.body]).toEqual([200, "<!doctype html><title>app</title>"]);
    expect(page.headers["content-security-policy"]).toContain(`script-src ${gateway.origin}/workspace/assets/;`);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'self' https://app.acme.example");
    const asset = await gateway.ask("/workspace/assets/main-abc.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(asset).toMatchObject({
      status: 200,
      headers: { "content-encoding": "br", "cache-control": "public, max-age=31536000, immutable" },
    });
    for (const path of ["index.html", "assets/", "assets/../index.html", "assets/%2e%2e/index.html", "../package.json"])
      expect((await gateway.ask(`/workspace/${path}`)).status).toBe(404);
    rmSync(appFolder, { recursive: true });
  });
});

describe("the workspace's session", () => {
  it("is told in every state, to those who have the cookie", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const ask = async () =>
      JSON.parse((await gateway.ask(`/workspace/${gateway.sandboxId}/session`, { headers: { cookie } })).body) as object;
    expect(await ask()).toEqual({
      sessionId: gateway.session.id,
      sandboxId: gateway.sandboxId,
      status: "running",
      reason: null,
      generation: 1,
      partnerName: "Acme",
      expiresAtMs: gateway.session.expiresAt,
      serverNowMs: gateway.clock.now(),
      previewUrl: `http://{port}-${gateway.sandboxId.replace("_", "-")}.localhost:${gateway.port}`,
    });
    gateway.session.stopReason = "timeout";
    gateway.become("paused");
    expect(await ask()).toMatchObject({ status: "paused", reason: "timeout", expiresAtMs: null });
    gateway.become("destroyed");
    expect(await ask()).toMatchObject({ status: "destroyed" });
    expect(await gateway.ask(`/workspace/${gateway.sandboxId}/session`)).toMatchObject({
      status: 401,
      headers: { "x-error-code": "unauthorized" },
    });
    expect(
      await gateway.ask(`/workspace/${gateway.sandboxId}/session`, { method: "PUT", headers: { cookie, origin: gateway.origin } }),
    ).toMatchObject({
      status: 405,
      headers: { allow: "GET" },
    });
  });

  it("is streamed: at once, after every change, and to its end", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    expect(await stream.next()).toContain('"status":"running"');
    gateway.become("paused");
    expect(await stream.next()).toContain('"status":"paused"');
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe(":");
    gateway.become("destroyed");
    expect(await stream.next()).toContain('"status":"destroyed"');
    expect(await stream.next()).toBe("end");
  });

  it("is counted for the operator, and streamed to so many pages only", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    const path = `/workspace/${gateway.sandboxId}/session/stream`;
    for (let i = 0; i < 100; i++) await openStream(gateway, cookie);
    expect((await gateway.ask(path, { headers: { cookie } })).status).toBe(429);
    const numbers = await gateway.registry.metrics();
    expect(numbers).toContain('berth_gateway_open{kind="streams"} 100');
    expect(numbers).toContain('berth_gateway_requests_total{area="workspace",status="429"} 1');
  });

  it("is streamed no longer than the cookie is good", async () => {
    await using gateway = await openGateway();
    const cookie = await gateway.signIn();
    await gateway.clock.advance(7 * 24 * 3_600_000 - 20_000);
    const stream = await openStream(gateway, cookie);
    await stream.next();
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe(":");
    await gateway.clock.advance(15_000);
    expect(await stream.next()).toBe("end");
  });

  it("is streamed no longer to a suspended partner's users", async () => {
    await using gateway = await openGateway();
    const stream = await openStream(gateway, await gateway.signIn());
    await stream.next();
    gateway.partner.state = "suspended";
    await gateway.clock.advance(3_000);
    expect(await stream.next()).toBe("end");
  });
});

describe("the daemon's API behind the cookie", () => {
  it("shows a person who opens its address a page", async () => {
    await using gateway = await openGateway();
    const title = async (path: string, cookie: string) =>
      /<h1>(.*)<\/h1>/.exec((await gateway.ask(path, { headers: { accept: "text/html,*/*", cookie } })).body)?.[1];
    const cookie = await gateway.signIn();
    const file = `/workspace/${gateway.sandboxId}/api/files/content?path=a`;
    expect(await title(file, "")).toBe("Open your workspace from where you found it");
    expect(await title(file, cookie)).toBe("The workspace does not answer");
    expect(await title(`/workspace/${gateway.sandboxId}/nothing`, cookie)).toBe("There is nothing here");
    gateway.become("paused");
    expect(await title(file, cookie)).toBe("Your workspace is paused");
  });

  it("is reached from our own pages only", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(`${request.method} ${request.url}`));
    const cookie = await gateway.signIn();
    const own = { cookie, origin: gateway.origin };
    const path = `/workspace/${gateway.sandboxId}/api/files/content?path=a%2Fb`;
    const ask = async (method: string, headers: Record<string, string>) => (await gateway.ask(path, { method, headers })).status;
    expect((await gateway.ask(path, { method: "PUT", headers: own, body: "x" })).body).toBe("PUT /files/content?path=a%2Fb");
    expect(await ask("GET", { cookie })).toBe(200);
    expect(await ask("GET", { cookie, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await ask("GET", { cookie, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await ask("GET", { cookie, "sec-fetch-dest": "script" })).toBe(403);
    expect(await ask("GET", { cookie, "service-worker": "script" })).toBe(403);
    expect(await ask("PUT", { cookie })).toBe(403);
    expect(await ask("PUT", { cookie, origin: "null" })).toBe(403);
    expect(await ask("PUT", { cookie, origin: `${gateway.origin}.evil.example` })).toBe(403);
    expect(await ask("PUT", { cookie, origin: "https://app.acme.example" })).toBe(403);
    expect(await ask("PUT", { origin: gateway.origin })).toBe(401);
    gateway.become("paused");
    expect(await ask("GET", own)).toBe(409);
  });
});
