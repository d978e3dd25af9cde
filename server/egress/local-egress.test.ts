import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PUBLIC, useTestEgress } from "./testing/use-test-egress.ts";

const { id, current, open, tunnel, socketPath } = useTestEgress();

test("close ends tunnels and removes the socket, and open is idempotent", async () => {
  await open(PUBLIC);
  await current.egress.open(id, { egress: PUBLIC });
  const { socket } = await tunnel(`127.0.0.1:${current.webPort}`);
  await current.egress.close(id);
  await expect.poll(() => socket.closed).toBe(true);
  expect(statSync(join(current.dataDir, "egress", id), { throwIfNoEntry: false })).toBeUndefined();
  await current.egress.close(id);
});

test("a new server replaces the socket of a dead one, also below a very long path", async () => {
  current.dataDir = join(current.dataDir, "a".repeat(120));
  await open(PUBLIC);
  const dead = current.egress;
  await open(PUBLIC);
  const inode = statSync(socketPath()).ino;
  expect(inode).toBeGreaterThan(0);
  await dead[Symbol.asyncDispose]();
  current.dataDir = join(current.dataDir, "..");
});

test("bytes to and from the outside are counted once, while the connection is open and after it", async () => {
  await open(PUBLIC);
  const { socket } = await tunnel(`127.0.0.1:${current.webPort}`);
  const [request, answer] = ["GET /x HTTP/1.1\r\nHost: me\r\n\r\n", once(socket, "data")];
  socket.write(request);
  await answer;
  const whileOpen = current.egress.takeTraffic().get(id)!;
  expect(whileOpen.sentBytes).toBe(request.length);
  expect(whileOpen.receivedBytes).toBeGreaterThan(50);
  expect(current.egress.takeTraffic()).toEqual(new Map());
  socket.end("GET /y HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
  await once(socket.resume(), "close");
  const after = current.egress.takeTraffic().get(id)!;
  expect(after.sentBytes).toBeGreaterThan(0);
  expect(current.egress.takeTraffic()).toEqual(new Map());
});
