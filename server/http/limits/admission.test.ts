import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { AppError } from "@berth/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../testing/test-app.ts";
import { presentedKey } from "./authentication.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

describe("the API key", () => {
  test("is checked before anything else", async () => {
    const big = "x".repeat(2 * 1024 * 1024);
    const calls: [string, string, { body?: string; headers?: Record<string, string> }?][] = [
      ["GET", "/api/b2b"],
      ["GET", "/api/b2b/nothing"],
      ["PUT", "/api/b2b/sessions"],
      ["OPTIONS", "/api/b2b/sessions"],
      ["GET", "/api/b2b/sessions/%ZZ"],
      ["GET", "/api/b2b/sessions/none"],
      ["POST", "/api/b2b/sessions", { body: "{" }],
      ["POST", "/api/b2b/sessions", { body: "x", headers: { "content-type": "text/plain" } }],
      ["POST", "/api/b2b/sessions", { body: big }],
    ];
    for (const [method, path, options] of calls) {
      for (const key of [null, "berth_nonsense", `berth_${"0".repeat(64)}`]) {
        const response = await app.call(method, path, { ...options, key });
        expect([path, response.status, response.text]).toEqual([path, 401, '{"error":"Unauthorized"}']);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        expect(response.headers.get("x-error-code")).toBe("unauthorized");
      }
    }
  });

  test("is not decided while the store is down, not even for a path that cannot be decoded", async () => {
    await using other = await startTestApp({ authenticate: () => Promise.reject(new AppError("store_unavailable")) });
    for (const path of ["/api/b2b/sessions/%ZZ", "/api/b2b/sessions/none"]) expect((await other.call("GET", path)).status).toBe(503);
  });

  test("is read from either header, with any case of the scheme", async () => {
    const status = async (headers: Record<string, string>) => (await app.call("GET", "/api/b2b/sessions/x", { key: null, headers })).status;
    const other = `berth_${"1".repeat(64)}`;
    expect(await status({ authorization: `Bearer ${app.key}` })).toBe(404);
    expect(await status({ authorization: `bEARER   ${app.key}` })).toBe(404);
    expect(await status({ "x-api-key": app.key })).toBe(404);
    expect(await status({ authorization: `Bearer ${app.key}`, "x-api-key": app.key })).toBe(404);
    expect(await status({ authorization: "Basic Zm9vOmJhcg==", "x-api-key": app.key })).toBe(404);
    expect(await status({ authorization: `Bearer ${app.key}`, "x-api-key": other })).toBe(401);
    expect(await status({ authorization: `Bearer ${other}`, "x-api-key": app.key })).toBe(401);
    expect(await status({ authorization: `Basic ${app.key}` })).toBe(401);
    expect(await status({ authorization: app.key })).toBe(401);
    expect(await status({ authorization: "Bearer", "x-api-key": app.key })).toBe(401);
    expect(await status({ "x-api-key": "" })).toBe(401);
  });

  test("may be sent twice only if both are equal", () => {
    expect(presentedKey(["X-Api-Key", "a", "x-api-key", "a"])).toBe("a");
    expect(presentedKey(["X-Api-Key", "a", "x-api-key", "b"])).toBeNull();
    expect(presentedKey(["Authorization", "Bearer a", "authorization", "Bearer b"])).toBeNull();
    expect(presentedKey(["Authorization", "Bearer a", "authorization", "Basic b"])).toBe("a");
  });
});

describe("paths and methods", () => {
  test("unknown paths and methods get 404 and 405 in JSON, with a request id", async () => {
    const unknown = await app.call("GET", "/api/b2b/nothing");
    expect([unknown.status, unknown.text]).toEqual([404, '{"error":"Not found"}']);
    expect((await app.call("POST", "/nothing", { body: "x", headers: { "content-type": "text/plain" } })).status).toBe(404);
    const wrong: [string, string, string][] = [
      ["PUT", "/api/b2b/sessions", "POST"],
      ["PUT", "/api/b2b/sessions/x", "GET, HEAD, DELETE"],
      ["GET", "/api/b2b/sessions/x/pause", "POST"],
      ["OPTIONS", "/api/b2b/sessions/x/resume/", "POST"],
      ["PROPFIND", "/api/b2b/sessions/x/launch-url?q", "POST"],
      ["POST", "/healthz", "GET, HEAD"],
    ];
    for (const [method, path, allow] of wrong) {
      const response = await app.call(method, path);
      expect([path, response.status, response.text]).toEqual([path, 405, '{"error":"Method not allowed"}']);
      expect(response.headers.get("allow")?.split(", ")).toEqual(expect.arrayContaining(allow.split(", ")));
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(response.headers.get("server")).toBeNull();
    }
  });

  test("a trailing slash is ignored, and HEAD gets no body", async () => {
    const created = await app.call("POST", "/api/b2b/sessions/", { body: { externalUserId: "u" } });
    const { sessionId } = created.json as { sessionId: string };
    const head = await app.call("HEAD", `/api/b2b/sessions/${sessionId}/`);
    expect([created.status, head.status, head.text]).toEqual([201, 200, ""]);
  });

  test("the request id of the caller is ignored", async () => {
    const response = await app.call("GET", "/healthz", { headers: { "x-request-id": "mine" } });
    expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-z]{18,}$/);
  });
});

describe("requests that are not plain HTTP", () => {
  test.each([
    ["\r\n\r\nrubbish\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\n\r\n", 400],
    ["GET /api/b2b/docs HTTP/9.9\r\nHost: x\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400],
    ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, 431],
    ["CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405],
  ])("malformed requests get a JSON error (%#)", async (bytes, status) => {
    const socket = connect(app.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(bytes);
    const answer = await text(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nX-Request-Id: req_/i);
    expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))).toEqual({ error: expect.any(String) });
  });

  test("an absolute URL in the request line is reduced to its path", async () => {
    const ask = async (target: string) => {
      const socket = connect(app.port, "127.0.0.1");
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return Number((await text(socket)).slice(9, 12));
    };
    expect(await ask("http://berth.example/healthz")).toBe(200);
    expect(await ask("http://berth.example/api/b2b/nothing")).toBe(401);
    expect(await ask("http://berth.example")).toBe(404);
  });

  test("an HTTP/2 upgrade offer and an unknown expectation are ignored", async () => {
    for (const header of ["Connection: upgrade\r\nUpgrade: h2c", "Expect: miracles"]) {
      const socket = connect(app.port, "127.0.0.1");
      socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
      socket.destroy();
    }
  });
});
