import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId, SANDBOX_ROUTES, SANDBOX_SOCKETS, TOKEN_SCOPES, type CallScope, type Route } from "@berth/contract";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway, type TestGateway } from "./testing/test-gateway.ts";
import { cookieFor, hostOf } from "./testing/test-preview.ts";

interface Call {
  method: string;
  path: string;
  scope: CallScope;
}

// Every call of the sandbox API.
const CALLS: Call[] = [
  ...Object.values<Route>(SANDBOX_ROUTES).map(({ method, path, tokenScope = null }) => ({
    method,
    path: path.replace("/sandboxes/{sandboxId}", ""),
    scope: tokenScope,
  })),
  ...SANDBOX_SOCKETS.map(([path, scope]) => ({ method: "WS", path, scope })),
];

describe("a session token below the sandbox URL", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openGateway();
    const daemon = await gateway.serveDaemon((_request, response) => response.end("{}"));
    const sockets = new WebSocketServer({ noServer: true });
    daemon.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, (client) => client.send("hello")));
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  async function statusOf({ method, path }: { method: string; path: string }, token: string): Promise<number> {
    const url = `/sandboxes/${gateway.sandboxId}${path.replaceAll(/\{\w+\}/g, "x1")}`;
    if (method !== "WS") return (await gateway.send(url, { method, headers: bearer(token) })).status;
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}${url}`, { headers: bearer(token) });
    const refused = once(socket, "unexpected-response");
    socket.on("error", () => {});
    const status = await Promise.race([
      once(socket, "open").then(() => 101),
      refused.then((args) => (args[1] as { statusCode: number }).statusCode),
    ]);
    socket.terminate();
    return status;
  }

  test.each(TOKEN_SCOPES)("with the scope %s makes exactly the calls of that scope", async (scope) => {
    const token = gateway.tokens.add({ scopes: [scope] });
    const passed: string[] = [];
    for (const call of CALLS) {
      const status = await statusOf(call, token);
      expect([200, 101, 403]).toContain(status);
      if (status !== 403) passed.push(`${call.method} ${call.path}`);
    }
    const allowed = CALLS.filter((call) => call.scope === scope || call.scope === "any");
    expect(passed).toEqual(allowed.map(({ method, path }) => `${method} ${path}`));
  });

  test("makes no call that is not in the table, even with all scopes", async () => {
    const token = gateway.tokens.add({ scopes: [...TOKEN_SCOPES] });
    const unknown = ["/internal/start", "/ports/3000/", "/FILES", "/files/", "/new", "/files/content/x", "/exec/", "//exec"];
    for (const path of unknown) expect(await statusOf({ method: "GET", path }, token)).toBe(403);
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) expect(await statusOf({ method, path: "/exec" }, token)).toBe(403);
    expect(await statusOf({ method: "HEAD", path: "/files/content" }, token)).toBe(200);
    expect(await statusOf({ method: "GET", path: "" }, token)).toBe(200);
  });

  test("of another session finds nothing, an unknown one is refused, and one for some ports does not list all", async () => {
    const other = gateway.tokens.add({ scopes: ["files"], sessionId: newId("ses", 0) });
    expect(await statusOf({ method: "GET", path: "/files" }, other)).toBe(404);
    expect(await statusOf({ method: "GET", path: "/files" }, "berth_st_unknown")).toBe(401);
    const narrow = gateway.tokens.add({ scopes: ["ports"], ports: [3000] });
    expect(await statusOf({ method: "GET", path: "/ports" }, narrow)).toBe(403);
  });

  test("is documented with the calls of each scope", () => {
    const page = readFileSync(new URL("../../docs/tokens.md", import.meta.url), "utf8");
    const documented = [...page.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, scope, calls]) => [
      scope,
      [...calls!.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, call]) => call),
    ]);
    const callsOf = (scope: string) => CALLS.filter((call) => call.scope === scope).map(({ method, path }) => `${method} ${path}`);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries([...TOKEN_SCOPES, "any"].map((scope) => [scope, callsOf(scope)])));
  });
});

test("responses that are still being sent end after their token or key is revoked", async () => {
  await using gateway = await openGateway();
  await gateway.serveDaemon((_request, response) => void response.write("{}\n"));
  const token = { authorization: `Bearer ${gateway.tokens.add({ scopes: ["files", "ports"] })}` };
  const watch = `/sandboxes/${gateway.sandboxId}/files/watch`;
  let received = 0;
  const onPart = () => (received += 1);
  const streams = [
    gateway.send(watch, { headers: token, onPart }),
    gateway.send("/stream", { headers: { ...token, host: hostOf(gateway, 3000) }, onPart }),
    gateway.send(watch, { headers: { "x-api-key": "good" }, onPart }),
  ];
  await expect.poll(() => received).toBe(3);
  const open = async () => /berth_gateway_open\{kind="responses"\} (\d+)/.exec(await gateway.registry.metrics())?.[1];
  await gateway.clock.advance(60_000);
  expect(await open()).toBe("3");
  gateway.tokens.revokeAll();
  gateway.keys.good = undefined;
  await gateway.clock.advance(5_000);
  for (const stream of streams) expect(await stream).toMatchObject({ status: 200, body: "{}\n", complete: false });
});

test("an open socket ends after its token is revoked", async () => {
  await using gateway = await openGateway();
  const daemon = await gateway.serveDaemon((_request, response) => response.end());
  const sockets = new WebSocketServer({ noServer: true });
  daemon.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, (client) => client.send("hello")));
  const headers = { authorization: `Bearer ${gateway.tokens.add({ scopes: ["terminals"] })}` };
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/terminals/1`, { headers });
  await once(socket, "message");
  await gateway.clock.advance(60_000);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  const closed = once(socket, "close");
  gateway.tokens.revokeAll();
  await gateway.clock.advance(5_000);
  expect((await closed)[0]).toBe(4401);
});

describe("a session token at a preview", () => {
  test("opens its ports without a cookie, and never reaches the web server", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(JSON.stringify({ url: request.url, headers: request.headers })));
    const token = gateway.tokens.add({ scopes: ["ports"], ports: [3000] });
    const send = (port: number, headers: Record<string, string>, method = "GET") =>
      gateway.send("/app", { method, headers: { ...headers, host: hostOf(gateway, port) } });

    const ways: Record<string, string>[] = [
      { authorization: `Bearer ${token}` },
      { authorization: `bearer  ${token}` },
      { "x-berth-session-token": token },
      { "x-berth-session-token": token, authorization: `Bearer ${token}` },
      { "x-berth-session-token": token, authorization: "Basic eDp5" },
    ];
    for (const headers of ways) {
      for (const method of ["GET", "POST"]) {
        const { status, body } = await send(3000, headers, method);
        expect(status).toBe(200);
        expect(body).not.toContain(token);
        expect(body).toContain("/ports/3000/app");
        expect(body.includes("Basic eDp5")).toBe(headers["authorization"] === "Basic eDp5");
      }
    }
    expect(await send(3001, ways[0]!)).toMatchObject({ status: 403, headers: { "x-error-code": "insufficient_scope" } });
    const others = [
      [{ authorization: "Bearer berth_st_unknown" }, 401],
      [{ "x-berth-session-token": "good" }, 401],
      [{ "x-berth-session-token": token, authorization: "Bearer berth_st_unknown" }, 401],
      [{ authorization: `Bearer ${gateway.tokens.add({ scopes: ["files"] })}` }, 403],
      [{ authorization: `Bearer ${gateway.tokens.add({ scopes: ["ports"], sessionId: newId("ses", 0) })}` }, 404],
    ] as const;
    for (const [headers, status] of others) expect((await send(3000, headers)).status).toBe(status);
  });

  test("opens a WebSocket, which ends after a revocation", async () => {
    await using gateway = await openGateway();
    const daemon = await gateway.serveDaemon((_request, response) => response.end());
    const sockets = new WebSocketServer({ noServer: true });
    daemon.on("upgrade", (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (client) => client.send(JSON.stringify(request.headers))),
    );
    const token = gateway.tokens.add({ scopes: ["ports"] });
    const headers = { authorization: `Bearer ${token}`, host: hostOf(gateway, 3000) };
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/live`, { headers });
    const [received] = (await once(socket, "message")) as [Buffer];
    expect(String(received)).not.toContain(token);
    const closed = once(socket, "close");
    gateway.tokens.revokeAll();
    await gateway.clock.advance(5_000);
    expect((await closed)[0]).toBe(4401);
  });

  test("that is not needed, like a key by mistake, does not reach the web server either", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(JSON.stringify(request.headers)));
    const cookie = await cookieFor(gateway, 3000);
    const secret = `berth_${"a".repeat(64)}`;
    const ways = { authorization: `Bearer ${secret}`, "x-api-key": secret, "x-berth-session-token": secret };
    for (const [name, value] of Object.entries(ways)) {
      const { body, status } = await gateway.send("/", { headers: { [name]: value, cookie, host: hostOf(gateway, 3000) } });
      expect([status, body.includes(secret)]).toEqual([200, false]);
    }
    const { body } = await gateway.send("/", { headers: { "x-api-key": "theirs", cookie, host: hostOf(gateway, 3000) } });
    expect(body).toContain("theirs");
  });
});
