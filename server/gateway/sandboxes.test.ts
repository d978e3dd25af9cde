import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway } from "./testing/test-gateway.ts";

const key = { "x-api-key": "good" };

describe("/sandboxes/{sandboxId}", () => {
  it("passes the partner's requests on to the daemon, streams and all", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        response.setHeader("trailer", "X-Exit-Code");
        response.write(`${request.method} ${request.url} ${body}`);
        response.addTrailers({ "X-Exit-Code": "7" });
        response.end();
      });
    });
    const answer = await gateway.ask(`/sandboxes/${gateway.sandboxId}/exec?format=text`, {
      method: "POST",
      headers: key,
      body: '{"command":"id"}',
    });
    expect([answer.status, answer.body]).toEqual([200, 'POST /exec?format=text {"command":"id"}']);
    expect(answer.trailers).toEqual({ "x-exit-code": "7" });
  });

  it("never shows the daemon the caller's key, cookies or address", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(JSON.stringify(request.headers)));
    const headers = {
      ...key,
      authorization: "Bearer good",
      cookie: "a=b",
      "x-forwarded-for": "1.2.3.4",
      range: "bytes=0-1",
      "x-berth-token": "mine",
    };
    const { body } = await gateway.ask(`/sandboxes/${gateway.sandboxId}/files`, { headers });
    const seen = JSON.parse(body) as Record<string, string>;
    expect(Object.keys(seen).toSorted()).toEqual(["connection", "host", "range", "x-berth-token"]);
    expect(seen["x-berth-token"]).toBe("daemon-token");
  });

  it("says whether the sandbox is well at its own address", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(request.url));
    for (const path of ["", "/"])
      expect((await gateway.ask(`/sandboxes/${gateway.sandboxId}${path}`, { headers: key })).body).toBe("/health");
  });

  it("refuses in the contract's words", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end("reached"));
    const ask = (path: string, headers: Record<string, string> = key) => gateway.ask(path, { headers });
    const here = `/sandboxes/${gateway.sandboxId}`;
    const absent = "/sandboxes/sbx_00000000000000000000000000/health";
    const cases = [
      [await ask(`${here}/health`, {}), 401, "unauthorized"],
      [await ask(absent, {}), 401, "unauthorized"],
      [await ask(`${here}/health`, { "x-api-key": "other" }), 404, "session_not_found"],
      [await ask(absent), 404, "session_not_found"],
      [await ask("/sandboxes/nonsense/health"), 404, "session_not_found"],
      [await ask("/sandboxes"), 404, "session_not_found"],
      [await ask(`${here}/internal/start`), 404, "not_found"],
      [await ask(`${here}/INTERNAL/start`), 404, "not_found"],
      [await ask(`${here}/ports/3000/`), 404, "not_found"],
      [await ask(`${here}/./internal/start`), 404, "not_found"],
      [await ask(`${here}/files/../internal/start`), 404, "not_found"],
      [await ask(`${here}/files/%2e%2e/internal/start`), 404, "not_found"],
      [await ask(`${here}//internal/start`), 404, "not_found"],
      [await ask(`${here}/%69nternal/start`), 404, "not_found"],
      [await ask(`${here}/files\\..\\internal`), 404, "not_found"],
      [await ask(`${here}/files%2f..%2finternal/start`), 404, "not_found"],
    ] as const;
    for (const [answer, status, code] of cases) {
      expect([answer.status, answer.headers["x-error-code"]]).toEqual([status, code]);
      expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(["error"]);
    }
    gateway.become("paused");
    expect(await ask(`${here}/health`)).toMatchObject({ status: 409, headers: { "x-error-code": "session_paused" } });
    gateway.become("destroyed");
    expect(await ask(`${here}/health`)).toMatchObject({ status: 404, headers: { "x-error-code": "session_not_found" } });
  });

  it("answers 502 when the daemon does not", async () => {
    await using gateway = await openGateway();
    expect(await gateway.ask(`/sandboxes/${gateway.sandboxId}/health`, { headers: key })).toMatchObject({
      status: 502,
      headers: { "x-error-code": "sandbox_unreachable" },
    });
  });

  it("fails a request with the reason when the session is paused under it", async () => {
    await using gateway = await openGateway();
    const arrived = Promise.withResolvers<void>();
    await gateway.serveDaemon(() => arrived.resolve());
    const asking = gateway.ask(`/sandboxes/${gateway.sandboxId}/exec`, { method: "POST", headers: key, body: "{}" });
    await arrived.promise;
    gateway.become("paused");
    expect(await asking).toMatchObject({ status: 409, headers: { "x-error-code": "session_paused" } });
  });

  it("refuses an upgrade with a status, without a key as with a paused session", async () => {
    await using gateway = await openGateway();
    const url = `ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`;
    expect(await refusalOf(new WebSocket(url))).toBe(401);
    gateway.become("paused");
    expect(await refusalOf(new WebSocket(url, { headers: key }))).toBe(409);
  });
});

it("a socket ends soon after its key does", async () => {
  await using gateway = await openGateway();
  const sockets = new WebSocketServer({ noServer: true });
  const daemon = await gateway.serveDaemon((_request, response) => response.end());
  daemon.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, (client) => client.send("hello")));
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`, { headers: key });
  await once(socket, "message");
  await gateway.clock.advance(60_000);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  const closed = once(socket, "close");
  gateway.keys.good = undefined;
  await gateway.clock.advance(5_000);
  expect((await closed)[0]).toBe(4401);
});

function refusalOf(socket: WebSocket): Promise<number> {
  return new Promise((done) => {
    socket.on("unexpected-response", (_request, answer) => {
      answer.resume();
      done(answer.statusCode ?? 0);
    });
    socket.on("error", () => {});
  });
}
