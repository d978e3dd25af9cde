import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi, type MockInstance } from "vitest";
import type { Authentication } from "./authentication.ts";
import { openEgressForwarder } from "../egress/egress-forwarder.ts";
import { runCovered } from "./boundary.ts";
import { createPauses } from "./pauses.ts";
import { sendJson } from "./reply.ts";
import { answerRequests, createDaemonServer } from "./server.ts";
import { acceptSocket } from "./sockets.ts";

// An error that gets past the boundary fails the whole test run, as it would end the daemon.
const server = createDaemonServer();
const inner = new PassThrough();
const authentication: Authentication = { check() {}, adopt() {} };

beforeAll(async () => {
  answerRequests(server, {
    authentication,
    pauses: createPauses(),
    routes: [
      { method: "GET", path: "/health", handle: ({ response }) => sendJson(response, 200, {}) },
      {
        method: "POST",
        path: "/body",
        handle: ({ request }) =>
          void request.on("data", () => {
            throw new Error("in the body");
          }),
      },
      {
        method: "GET",
        path: "/stream",
        handle({ response, cover }) {
          cover(inner);
          inner.on("data", () => {
            response.writeHead(0);
          });
          inner.write("bytes");
        },
      },
    ],
    upgrades: [
      {
        path: "/socket",
        upgrade: (call) =>
          acceptSocket(call, (socket) =>
            socket.on("message", () => {
              throw new Error("in a message");
            }),
          ),
      },
    ],
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

let logged: MockInstance;
beforeEach(() => void (logged = vi.spyOn(console, "error").mockImplementation(() => {})));
afterEach(() => logged.mockRestore());

const port = () => (server.address() as AddressInfo).port;
const ask = (method: string, path: string, body = ""): Promise<number | string> =>
  new Promise((resolve) => {
    httpRequest({ port: port(), method, path, agent: false }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", () => resolve("closed"))
      .end(body);
  });

test.each([
  ["the body of a request", "POST", "/body"],
  ["a stream that the call covers", "GET", "/stream"],
])("a throw in a listener of %s ends that connection, is logged, and nothing else ends", async (_name, method, path) => {
  expect(await ask(method, path, "body")).toBe("closed");
  expect(logged).toHaveBeenCalledTimes(1);
  expect(logged.mock.calls[0]).toEqual([expect.stringMatching(/^A connection failed \(\d+ so far\):$/), expect.any(Error)]);
  expect(await ask("GET", "/health")).toBe(200);
  if (path === "/stream") expect(inner.destroyed).toBe(true);
});

test("a throw in a listener of a WebSocket's messages ends that connection, and nothing else", async () => {
  const socket = connect(port(), "127.0.0.1");
  socket.write(
    "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
  );
  await once(socket, "data");
  // A masked text frame, "a".
  socket.write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]));
  await new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  expect(logged).toHaveBeenCalledTimes(1);
  expect(await ask("GET", "/health")).toBe(200);
});

test("a throw while a connection of raw bytes is handled ends that connection, is counted, and nothing else ends", async () => {
  const token = () => {
    throw new Error("no token");
  };
  using forwarder = openEgressForwarder("127.0.0.1:1", token, 0);
  await expect.poll(() => forwarder.url).toBeDefined();
  for (let i = 0; i < 2; i++) {
    const socket = connect(Number(new URL(forwarder.url!).port), "127.0.0.1");
    socket.resume().on("error", () => {});
    await new Promise((resolve) => socket.on("close", resolve));
  }
  const counts = logged.mock.calls.map(([text]) => Number(/\d+/.exec(String(text))?.[0]));
  expect(counts).toEqual([expect.any(Number), counts[0]! + 1]);
});

test("a stream that joins a connection after its failure is destroyed, and one failure is logged once", async () => {
  const stream = new PassThrough();
  runCovered(stream, (cover) => {
    setImmediate(() => cover(inner));
    throw new Error("at once");
  });
  await expect.poll(() => stream.destroyed && inner.destroyed).toBe(true);
  stream.emit("data", "bytes");
  expect(logged).toHaveBeenCalledTimes(1);
});
