import { Duplex, type DuplexOptions } from "node:stream";
import type { Socket } from "node:net";
import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { silentLog } from "../../log.ts";
import { createProxyFactory } from "./proxy-factory.ts";
import { createTrafficMeter } from "./traffic.ts";

const CONNECTIONS = 200;

// A connection on which nothing arrives.
function silentSocket(): Socket {
  const silent: DuplexOptions = { read() {}, write: (_chunk, _encoding, done) => done() };
  return Object.assign(new Duplex(silent), { setTimeout() {}, setNoDelay() {}, setKeepAlive() {} }) as unknown as Socket;
}

test("many connections at once are served in several iterations of the event loop, in turn with those of another sandbox", async () => {
  const createProxy = createProxyFactory({ log: silentLog, maxConnections: CONNECTIONS }, { allowed: 0, refused: 0 }, createTrafficMeter());
  const served: string[] = [];
  const all = Promise.withResolvers<void>();
  const [greedy, other] = ["greedy", "other"].map((name, index) => {
    const proxy = createProxy(newId("sbx", index), { policy: "public" });
    // Reading a request and dialling its target takes about this long.
    proxy.proxy.on("connection", () => {
      for (const endMs = performance.now() + 0.1; performance.now() < endMs;);
      if (served.push(name) === CONNECTIONS + 1) all.resolve();
    });
    return proxy;
  });
  const sockets = Array.from({ length: CONNECTIONS + 1 }, silentSocket);
  for (const socket of sockets.slice(1)) greedy!.serve(socket);
  other!.serve(sockets[0]!);
  expect(served.length).toBeLessThan(CONNECTIONS / 4);
  await all.promise;
  expect(served.indexOf("other")).toBeLessThan(CONNECTIONS / 4);
  for (const socket of sockets) socket.destroy();
  for (const { proxy } of [greedy!, other!]) proxy.close();
});

test("a connection that was closed while it waited for its turn is not served", async () => {
  const createProxy = createProxyFactory({ log: silentLog }, { allowed: 0, refused: 0 }, createTrafficMeter());
  const { proxy, serve } = createProxy(newId("sbx", 1), { policy: "public" });
  const served = new Set<Socket>();
  const last = silentSocket();
  const all = Promise.withResolvers<void>();
  proxy.on("connection", (socket: Socket) => {
    for (const endMs = performance.now() + 2; performance.now() < endMs;);
    served.add(socket);
    if (socket === last) all.resolve();
  });
  const [first, closed] = [silentSocket(), silentSocket()];
  for (const socket of [first, closed, last]) serve(socket);
  closed.destroy();
  await all.promise;
  expect([...served]).toEqual([first, last]);
  for (const socket of [first, last]) socket.destroy();
  proxy.close();
});
