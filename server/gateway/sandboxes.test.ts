import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openGateway } from "./testing/test-gateway.ts";

const key = { "x-api-key": "good" };

describe("/sandboxes/{sandboxId}", () => {
  test("relays requests to the daemon, with bodies and trailers", async () => {
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
    const answer = await gateway.send(`/sandboxes/${gateway.sandboxId}/exec?format=text`, {
      method: "POST",
      headers: key,
      body: '{"command":"id"}',
    });
    expect([answer.status, answer.body]).toEqual([200, 'POST /exec?format=text {"command":"id"}']);
    expect(answer.trailers).toEqual({ "x-exit-code": "7" });
  });

  test("sends an answer that has come whole in one packet, with its trailer", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => {
      const hasTrailer = request.url === "/exec";
      if (hasTrailer) response.setHeader("trailer", "x-exit-code");
      response.write("one\n");
      if (hasTrailer) response.addTrailers({ "x-exit-code": "3" });
      response.end("two\n");
    });
    const socket = connect(gateway.port, "127.0.0.1");
    const ask = async (path: string) => {
      socket.write(`POST /sandboxes/${gateway.sandboxId}${path} HTTP/1.1\r\nhost: x\r\nx-api-key: good\r\ncontent-length: 2\r\n\r\n{}`);
      const [bytes] = (await once(socket, "data")) as [Buffer];
      return bytes.toString();
    };
    expect(await ask("/files")).toMatch(/\r\ncontent-length: 8\r\n[^]*\r\n\r\none\ntwo\n$/i);
    expect(await ask("/exec")).toMatch(/\r\ntransfer-encoding: chunked\r\n\r\n8\r\none\ntwo\n\r\n0\r\nx-exit-code: 3\r\n\r\n$/i);
    expect(await ask("/files")).toMatch(/\r\n\r\none\ntwo\n$/);
    socket.destroy();
  });

  test("needs a key with the scope sessions", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end());
    const statuses: [number, unknown][] = [];
    for (const scope of ["read", "sessions"] as const) {
      gateway.keys.scoped = { id: "acme", scope };
      const { status, headers } = await gateway.send(`/sandboxes/${gateway.sandboxId}/files`, { headers: { "x-api-key": "scoped" } });
      statuses.push([status, headers["x-error-code"]]);
    }
    expect(statuses).toEqual([
      [403, "insufficient_scope"],
      [200, undefined],
    ]);
  });

  test("never sends the caller's key, cookies or address to the daemon", async () => {
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
    const { body } = await gateway.send(`/sandboxes/${gateway.sandboxId}/files`, { headers });
    const received = JSON.parse(body) as Record<string, string>;
    expect(Object.keys(received).toSorted()).toEqual(["connection", "host", "range", "x-berth-token"]);
    expect(received["x-berth-token"]).toBe("daemon-token");
  });

  test("passes on a short Retry-After in seconds, and no other", async () => {
    await using gateway = await openGateway();
    let value = "1";
    await gateway.serveDaemon((_request, response) => void response.writeHead(503, { "retry-after": value }).end());
    const relayed = async () => (await gateway.send(`/sandboxes/${gateway.sandboxId}/exec`, { headers: key })).headers["retry-after"];
    expect(await relayed()).toBe("1");
    for (value of ["86400", "-1", "Fri, 31 Dec 2099 23:59:59 GMT"]) expect(await relayed()).toBeUndefined();
  });

  test("replies with the daemon's health at the bare sandbox URL", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((request, response) => response.end(request.url));
    for (const path of ["", "/"])
      expect((await gateway.send(`/sandboxes/${gateway.sandboxId}${path}`, { headers: key })).body).toBe("/health");
  });

  test("refuses with the contract's error codes", async () => {
    await using gateway = await openGateway();
    await gateway.serveDaemon((_request, response) => response.end("reached"));
    const send = (path: string, headers: Record<string, string> = key) => gateway.send(path, { headers });
    const here = `/sandboxes/${gateway.sandboxId}`;
    const absent = "/sandboxes/sbx_00000000000000000000000000/health";
    const cases = [
      [await send(`${here}/health`, {}), 401, "unauthorized"],
      [await send(absent, {}), 401, "unauthorized"],
      [await send(`${here}/health`, { "x-api-key": "other" }), 404, "session_not_found"],
      [await send(absent), 404, "session_not_found"],
      [await send("/sandboxes/nonsense/health"), 404, "session_not_found"],
      [await send("/sandboxes"), 404, "session_not_found"],
      [await send(`${here}/internal/start`), 404, "not_found"],
      [await send(`${here}/INTERNAL/start`), 404, "not_found"],
      [await send(`${here}/ports/3000/`), 404, "not_found"],
      [await send(`${here}/./internal/start`), 404, "not_found"],
      [await send(`${here}/files/../internal/start`), 404, "not_found"],
      [await send(`${here}/files/%2e%2e/internal/start`), 404, "not_found"],
      [await send(`${here}//internal/start`), 404, "not_found"],
      [await send(`${here}/%69nternal/start`), 404, "not_found"],
      [await send(`${here}/files\\..\\internal`), 404, "not_found"],
      [await send(`${here}/files%2f..%2finternal/start`), 404, "not_found"],
    ] as const;
    for (const [answer, status, code] of cases) {
      expect([answer.status, answer.headers["x-error-code"]]).toEqual([status, code]);
      expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(["error"]);
    }
    gateway.setStatus("paused");
    expect(await send(`${here}/health`)).toMatchObject({ status: 409, headers: { "x-error-code": "session_paused" } });
    gateway.setStatus("destroyed");
    expect(await send(`${here}/health`)).toMatchObject({ status: 404, headers: { "x-error-code": "session_not_found" } });
  });

  test("replies 502 if the daemon does not respond", async () => {
    await using gateway = await openGateway();
    expect(await gateway.send(`/sandboxes/${gateway.sandboxId}/health`, { headers: key })).toMatchObject({
      status: 502,
      headers: { "x-error-code": "sandbox_unreachable" },
    });
  });

  test("fails a request with session_paused if the session is paused meanwhile", async () => {
    await using gateway = await openGateway();
    const arrived = Promise.withResolvers<void>();
    await gateway.serveDaemon(() => arrived.resolve());
    const pending = gateway.send(`/sandboxes/${gateway.sandboxId}/exec`, { method: "POST", headers: key, body: "{}" });
    await arrived.promise;
    gateway.setStatus("paused");
    expect(await pending).toMatchObject({ status: 409, headers: { "x-error-code": "session_paused" } });
  });

  test("lets a call that a step overtakes answer as if it had come when the step is over", async () => {
    await using gateway = await openGateway();
    const url = `/sandboxes/${gateway.sandboxId}/files`;
    const overtake = async (act: () => void) => {
      gateway.setStatus("running");
      await gateway.serveDaemon((request) => {
        act();
        request.socket.destroy();
      });
      const { status, headers } = await gateway.send(url, { headers: key });
      return [status, headers["x-error-code"]];
    };
    const pauseSlowly = () => {
      gateway.session.state = "pausing";
      setTimeout(() => gateway.setStatus("paused"), 50);
    };
    expect(await overtake(pauseSlowly)).toEqual([409, "session_paused"]);
    expect(await overtake(() => (gateway.session.state = "destroying"))).toEqual([404, "session_not_found"]);
    // Paused and resumed.
    expect(await overtake(() => (gateway.session.generation += 4))).toEqual([409, "session_paused"]);
    expect(await overtake(() => {})).toEqual([502, "sandbox_unreachable"]);
  });

  test("ends the output of a command whose session is destroyed with a line that says so, and cuts every other response", async () => {
    await using gateway = await openGateway();
    const line = `${JSON.stringify({ type: "stdout", data: "x" })}\n`;
    await gateway.serveDaemon((request, response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.write(line, () => {
        gateway.session.state = "destroying";
        request.socket.destroy();
      });
    });
    const send = (path: string) => {
      gateway.setStatus("running");
      return gateway.send(`/sandboxes/${gateway.sandboxId}${path}`, { headers: key });
    };
    const last = JSON.stringify({ type: "error", code: "session_not_found", message: "Session not found" });
    expect((await send("/exec")).body).toBe(`${line}${last}\n`);
    expect((await send("/files")).body).toBe(line);
  });

  test("a change of a session that is being resumed leaves its link open", async () => {
    await using gateway = await openGateway();
    const arrived = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    await gateway.serveDaemon((_request, response) => {
      arrived.resolve();
      void answered.promise.then(() => response.end("{}"));
    });
    const starting = gateway.links.start(gateway.sandboxId, { env: {}, agent: null, fallbackAgents: [], autoStartAgent: false });
    await arrived.promise;
    gateway.setStatus("paused");
    answered.resolve();
    await expect(starting).resolves.toEqual({ hasNews: false });
  });

  test("refuses upgrades with an HTTP status", async () => {
    await using gateway = await openGateway();
    const url = `ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/events`;
    expect(await refusalOf(new WebSocket(url))).toBe(401);
    gateway.setStatus("paused");
    expect(await refusalOf(new WebSocket(url, { headers: key }))).toBe(409);
  });
});

test("a socket closes within five seconds after its key is revoked", async () => {
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
  return new Promise((resolve) => {
    socket.on("unexpected-response", (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.on("error", () => {});
  });
}

test("every call counts as use of the session, a command for as long as it runs, and a socket when its caller sends something", async () => {
  const open = new Set<string>();
  const noted: string[] = [];
  const activity = {
    note: ({ id }: { id: string }) => void noted.push(id),
    begin({ id }: { id: string }) {
      open.add(id);
      return { [Symbol.dispose]: () => void open.delete(id) };
    },
  };
  await using gateway = await openGateway({ activity });
  const finish = Promise.withResolvers<void>();
  const daemon = await gateway.serveDaemon((_request, response) => void finish.promise.then(() => response.end("done")));
  const running = gateway.send(`/sandboxes/${gateway.sandboxId}/exec`, { method: "POST", headers: key, body: "{}" });
  await expect.poll(() => [...open]).toEqual([gateway.session.id]);
  finish.resolve();
  expect((await running).status).toBe(200);
  await expect.poll(() => open.size).toBe(0);
  await gateway.send(`/sandboxes/${gateway.sandboxId}/exec`, { method: "POST", headers: { "x-api-key": "bad" }, body: "{}" });
  expect([open.size, noted]).toEqual([0, []]);

  const sockets = new WebSocketServer({ noServer: true });
  const accepted = Promise.withResolvers<WebSocket>();
  daemon.on("upgrade", (request, duplex, head) => sockets.handleUpgrade(request, duplex, head, accepted.resolve));
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/sandboxes/${gateway.sandboxId}/terminals/1`, { headers: key });
  await once(socket, "open");
  const peer = await accepted.promise;
  expect(noted).toEqual([gateway.session.id]);
  // The answers to pings are not input.
  const ping = once(socket, "ping");
  await gateway.clock.advance(30_000);
  await ping;
  expect(noted).toHaveLength(1);
  socket.send("x");
  await once(peer, "message");
  await expect.poll(() => noted.length).toBe(2);
  socket.close();
  await once(socket, "close");
});
