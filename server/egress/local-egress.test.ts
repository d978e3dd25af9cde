import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { EgressPolicy } from "@berth/contract";
import { expect, test } from "vitest";
import { PUBLIC, useTestEgress } from "./testing/use-test-egress.ts";

const { id, current, open, get, tunnel, socketPath } = useTestEgress();

test("close ends tunnels and removes the socket, and open is idempotent", async () => {
  await open(PUBLIC);
  await current.egress.open(id, { egress: PUBLIC });
  const { socket } = await tunnel(`127.0.0.1:${current.webPort}`);
  await current.egress.close(id);
  await expect.poll(() => socket.closed).toBe(true);
  expect(statSync(join(current.dataDir, "egress", id), { throwIfNoEntry: false })).toBeUndefined();
  await current.egress.close(id);
});

test("a change holds for the next request, and closes the tunnels that it forbids only if asked to", async () => {
  await open(PUBLIC);
  const world = `127.0.0.1:${current.webPort}`;
  const { socket } = await tunnel(world);
  const change = (egress: EgressPolicy, closeConnections: boolean) => current.egress.change(id, { egress }, { closeConnections });
  await change({ policy: "hosts", hosts: [world] }, true);
  await change({ policy: "none" }, false);
  expect((await get(`http://${world}/`)).status).toBe(403);
  // It still works.
  socket.write("GET /x HTTP/1.1\r\nHost: me\r\n\r\n");
  expect(String((await once(socket, "data"))[0])).toContain("x-seen-host: me");
  const closed = once(socket, "close");
  await change({ policy: "hosts", hosts: ["elsewhere.example"] }, true);
  await closed;
  await change(PUBLIC, false);
  expect((await get(`http://${world}/`)).status).toBe(200);
});

test("a connection that is being opened while the policy changes is refused", async () => {
  const resolving = Promise.withResolvers<string[]>();
  const asked = Promise.withResolvers<void>();
  const resolve = async () => (asked.resolve(), resolving.promise);
  await open(PUBLIC, { resolve });
  const answer = get(`http://slow.example:${current.webPort}/`);
  await asked.promise;
  await current.egress.change(id, { egress: { policy: "none" } }, { closeConnections: false });
  resolving.resolve(["127.0.0.1"]);
  expect(await answer).toMatchObject({ status: 403, body: "berth: this sandbox has no network access\n" });
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

test("hosts are counted by outcome and rule, with their bytes, and a flood of names is counted together", async () => {
  await open({ policy: "hosts", hosts: [`127.0.0.1:${current.webPort}`, "*.invalid"] }, { resolve: async () => [] });
  await get(`http://127.0.0.1:${current.webPort}/echo`, { method: "POST", body: "hello" });
  await get("http://other.example/");
  await get("http://nothing.invalid/");
  const [reached, refused, unknown] = [...(current.egress.takeHosts().get(id) ?? [])].sort((a, b) => a.host.localeCompare(b.host));
  expect(reached).toMatchObject({
    host: "127.0.0.1",
    port: current.webPort,
    outcome: "allowed",
    rule: "BERTH_EGRESS_ALLOW",
    connections: 1,
  });
  expect(reached!.sentBytes).toBeGreaterThan(50);
  expect(reached!.receivedBytes).toBeGreaterThan(50);
  expect(unknown).toMatchObject({ host: "other.example", port: 80, outcome: "refused", connections: 1 });
  expect(unknown!.rule).toContain("is not an allowed host");
  expect(refused).toMatchObject({ host: "nothing.invalid", outcome: "refused", rule: "nothing.invalid has no public address" });
  expect(current.egress.takeHosts()).toEqual(new Map());

  for (let n = 0; n < 205; n++) await get(`http://h${n}.example/`);
  const hosts = current.egress.takeHosts().get(id) ?? [];
  expect(hosts).toHaveLength(201);
  expect(hosts.at(-1)).toMatchObject({ host: "*", port: 0, outcome: "refused", connections: 5 });
});
