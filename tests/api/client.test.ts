import { afterAll, beforeAll, expect, test } from "vitest";
import { createBerth, ValidationError, type Berth as Client, type Session } from "../../client/index.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { runCli } from "../support/servers/cli.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";

// Features that only the TypeScript client has, against a real server with real sandboxes. tests/api/clients has the journeys of every client.
let server: SharedBerth;
let berth: Client;
let session: Session;

beforeAll(async () => {
  await daemonRuntime();
  server = await shareBerth();
  berth = createBerth({ baseUrl: server.url, apiKey: server.key });
});

afterAll(() => session.destroy());

test("a session can be used before its create has finished", async () => {
  const pending = berth.sessions.create({ externalUserId: "hasty", autoStartAgent: false });
  expect((await pending.exec("echo there")).stdout).toBe("there\n");
  session = await pending;
  await expect(berth.sessions.create({ externalUserId: "" }).exec("echo never")).rejects.toThrow(ValidationError);
});

test("events stream while they happen, until the caller aborts", async () => {
  let before: string | undefined;
  for await (const { id } of berth.events.list()) before = id;
  const streamed: string[] = [];
  const abort = new AbortController();
  const listening = (async () => {
    for await (const event of berth.events.stream({ after: before, signal: abort.signal })) streamed.push(event.type);
  })();
  await session.pause();
  await session.resume({ autoStartAgent: false });
  await expect.poll(() => streamed).toEqual(["session.paused", "session.resumed"]);
  abort.abort();
  await listening;
});

test("the operator sees the keys that a partner creates", async () => {
  const { id } = await berth.keys.create({ name: "Reports", scope: "read" });
  expect((await runCli(server, "key", "list", server.partnerId)).stdout).toMatch(/Reports +read/);
  await berth.keys.revoke(id);
});
