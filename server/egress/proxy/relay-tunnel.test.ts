import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { relayTunnel } from "./relay-tunnel.ts";

const opened: { destroy(): void }[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

// A connection over loopback that may be open in one direction only.
async function openPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  const [[far]] = (await Promise.all([once(server, "connection"), once(near, "connect")])) as [[Socket], unknown];
  server.close();
  for (const socket of [near, far]) socket.on("error", () => socket.destroy());
  opened.push(near, far);
  return [near, far];
}

// caller <-> (inner | outer) <-> target
async function openTunnel() {
  const [caller, inner] = await openPair();
  const [outer, target] = await openPair();
  relayTunnel(inner, outer);
  return { caller, inner, outer, target };
}

const untilClosed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

test("both directions are forwarded, and either may end first", async () => {
  const { caller, inner, outer, target } = await openTunnel();
  caller.end("a question");
  expect(await text(target)).toBe("a question");
  const answer = "an answer ".repeat(300_000);
  const closed = Promise.all([inner, outer].map(untilClosed));
  target.end(answer);
  expect(await text(caller)).toBe(answer);
  await closed;
});

test("the last bytes arrive at a target that reads slowly, although the caller has left in order", async () => {
  const { caller, inner, target } = await openTunnel();
  target.pause();
  target.end();
  caller.resume();
  const bytes = "x".repeat(1_000_000);
  caller.end(bytes);
  await untilClosed(inner);
  expect(await text(target)).toBe(bytes);
});

test.each(["caller", "target"] as const)("if the %s fails, both sockets are closed", async (name) => {
  const tunnel = await openTunnel();
  tunnel[name].resetAndDestroy();
  await Promise.all([tunnel.inner, tunnel.outer].map(untilClosed));
});
