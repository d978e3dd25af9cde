import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { startBerth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

const IDLE_CONNECTIONS = 2000;

test("a server with 512 open files closes idle connections before it refuses a caller, and says at start that the limit is low", async () => {
  await daemonRuntime();
  await using berth = await startBerth({ BERTH_DRIVER: "process" }, { maxFiles: 512 });
  expect(berth.output()).toContain('"message":"The server may open 512 files, which is enough for 192 connections. Raise the limit');
  const session = await berth.api.create({ autoStartAgent: false });
  const { hostname, port } = new URL(berth.url);
  const sockets: Socket[] = [];
  const openIdle = async (isSilent: boolean) => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    sockets.push(socket);
    await Promise.race([once(socket, "connect"), once(socket, "close")]);
    if (!isSilent) socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  };
  const statuses = new Set<number>();
  try {
    for (let at = 0; at < IDLE_CONNECTIONS; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => openIdle(index % 2 === 0)));
      // A new connection each time, as from a caller who was not here before.
      const path = `/api/b2b/sessions/${session.sessionId}`;
      statuses.add((await berth.api.call("GET", path, undefined, { connection: "close" })).status);
    }
    expect([...statuses]).toEqual([200]);
    expect(await berth.api.exec(session.sandboxId, "echo on")).toMatchObject({ stdout: "on\n" });
    expect((await berth.api.create({ autoStartAgent: false })).status).toBe("running");
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
