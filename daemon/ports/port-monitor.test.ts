import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { describeForwarder } from "@berth/contract/forwarding/forwarding.suite.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

describe("ports", () => {
  test("of other processes on this machine are not listed", async () => {
    const foreign = createTcpServer().listen(0, "127.0.0.1");
    await once(foreign, "listening");
    const { ports } = (await daemon.fetch("/ports")).json;
    expect(ports).not.toContainEqual(expect.objectContaining({ port: (foreign.address() as AddressInfo).port }));
    foreign.close();
    await once(foreign, "close");
  });

  test("forward requests unchanged, without the sandbox token", async () => {
    const inner = createServer((request, response) => {
      request.resume();
      response.writeHead(207, {
        "X-Saw": `${request.method} ${request.url}`,
        "X-Token": String(request.headers["x-berth-token"]),
        "X-First": String(request.rawHeaders[0]),
      });
      response.end("inside");
    }).listen(0, "127.0.0.1");
    await once(inner, "listening");
    const { port } = inner.address() as AddressInfo;
    const reply = await daemon.fetch(`/ports/${port}/a%20b/../c?d=e`, { method: "PUT", body: "hello" });
    expect(reply).toMatchObject({ status: 207, text: "inside" });
    expect(reply.headers).toMatchObject({ "x-saw": "PUT /a%20b/../c?d=e", "x-token": "undefined", "x-first": "Host" });
    expect((await daemon.fetch(`/ports/${port}`)).headers["x-saw"]).toBe("GET /");
    inner.close();
    inner.closeAllConnections();
    await once(inner, "close");
    expect((await daemon.fetch(`/ports/${port}/`)).json).toMatchObject({ code: "port_closed" });
  });

  test("forward WebSockets", async () => {
    const inner = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(inner, "listening");
    inner.on("connection", (socket, request) => socket.on("message", (data: Buffer) => socket.send(`${request.url} ${data.toString()}`)));
    const socket = daemon.connect(`/ports/${(inner.address() as AddressInfo).port}/hot?x=1`);
    await once(socket, "open");
    socket.send("ping");
    expect(String((await once(socket, "message"))[0])).toBe("/hot?x=1 ping");
    socket.close();
    await once(socket, "close");
    inner.close();
    await once(inner, "close");
  });

  test.each(["0", "65536", "abc", "-1"])("with the invalid number %s are refused", async (port) => {
    expect((await daemon.fetch(`/ports/${port}/`)).status).toBe(400);
  });
});

describeForwarder("a port", async ({ port }) => {
  const relay = await startTestDaemon();
  const { pid } = relay;
  const headers = "HTTP/1.1\r\nhost: x\r\nx-berth-token: test-token";
  return {
    connect: () => connect(relay.socketPath),
    requests: {
      get: `GET /ports/${port}/ ${headers}`,
      post: `POST /ports/${port}/ ${headers}`,
      upgrade: `GET /ports/${port}/hot ${headers}`,
    },
    faults: () => (relay.pid === pid ? [] : ["the daemon has ended"]),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
});
