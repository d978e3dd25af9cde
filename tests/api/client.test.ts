import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createBerth,
  FileConflictError,
  FileNotFoundError,
  SessionConflictError,
  SessionNotFoundError,
  UnauthorizedError,
  ValidationError,
  verifyWebhook,
  type BerthEvent,
  type Berth as Client,
  type Session,
} from "../../client/index.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { runCli } from "../support/servers/cli.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";

// The client against a real server with real sandboxes.
let server: SharedBerth;
let berth: Client;
// A session for the tests that do not destroy theirs.
let shared: Session;

beforeAll(async () => {
  await daemonRuntime();
  server = await shareBerth();
  berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  shared = await berth.sessions.create({ externalUserId: "shared", autoStartAgent: false });
});

afterAll(() => shared.destroy());

test("a session is created, used, paused, resumed, found again and destroyed", async () => {
  const session = await berth.sessions.create({
    externalUserId: "ada",
    metadata: { plan: "pro" },
    envVars: { GREETING: "hello" },
    autoStartAgent: false,
  });
  expect(session).toMatchObject({ status: "running", sandboxUrl: `${server.url}/sandboxes/${session.sandboxId}` });

  const run = await session.exec("echo $GREETING; echo oops >&2; exit 3");
  expect(run).toEqual({ stdout: "hello\n", stderr: "oops\n", exitCode: 3, signal: null, timedOut: false });

  expect((await session.pause()).status).toBe("paused");
  await expect(session.pause()).rejects.toThrow(SessionConflictError);
  await expect(session.exec("true")).rejects.toMatchObject({ code: "session_paused" });
  expect((await session.resume({ autoStartAgent: false })).status).toBe("running");

  const again = await berth.sessions.get(session.sessionId);
  expect(again).toMatchObject({ externalUserId: "ada", metadata: { plan: "pro" }, template: "default" });
  expect((await again.update({ metadata: { plan: "max" } })).metadata).toEqual({ plan: "max" });

  const { url, expiresAt } = await session.launchUrl();
  expect(url).toContain(`${server.url}/workspace/?s=`);
  expect(expiresAt).toBeGreaterThan(Date.now());

  expect((await session.destroy()).status).toBe("destroyed");
  expect((await session.destroy()).status).toBe("destroyed");
  await berth.sessions.destroy(session.sessionId);
  await expect(berth.sessions.destroy("ses_nothing")).rejects.toThrow(SessionNotFoundError);
  await expect(session.launchUrl()).rejects.toThrow(SessionNotFoundError);
});

test("files are written and read, and a write with an old ETag fails", async () => {
  const { files } = shared;
  const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);
  await files.write("data/blob.bin", bytes);
  expect(await files.read("data/blob.bin")).toEqual(bytes);

  expect(new Uint8Array(await new Response(await files.readStream("data/blob.bin")).arrayBuffer())).toEqual(bytes);
  const zip = new Uint8Array(await new Response(await files.archive()).arrayBuffer());
  expect(new TextDecoder().decode(zip.subarray(0, 2))).toBe("PK");

  const written = await files.write("src/grüße.txt", "hallo\n");
  expect(await files.readText("src/grüße.txt")).toBe("hallo\n");
  await files.write("src/grüße.txt", "hallo du\n", { ifMatch: written.etag });
  await expect(files.write("src/grüße.txt", "late\n", { ifMatch: written.etag })).rejects.toThrow(FileConflictError);
  await expect(files.write("src/grüße.txt", "new\n", { create: true })).rejects.toThrow(FileConflictError);

  await files.makeFolder("src/deep/er");
  await files.move("src/grüße.txt", "src/deep/greetings.txt");
  expect((await files.list("src")).map((entry) => [entry.name, entry.type])).toEqual([["deep", "folder"]]);
  expect(await files.exists("src/deep/greetings.txt")).toBe(true);
  expect(await files.exists("nowhere/at/all")).toBe(false);
  await files.remove("src");
  await expect(files.readText("src/deep/greetings.txt")).rejects.toThrow(FileNotFoundError);
  expect((await shared.exec("ls")).stdout).toBe("data\n");
});

test("output streams while a command runs, and leaving the loop ends the command", async () => {
  const seen: string[] = [];
  for await (const event of shared.execStream("echo one; sleep 60; echo two")) {
    if (event.type === "stdout") seen.push(event.data);
    break;
  }
  expect(seen).toEqual(["one\n"]);
  await expect.poll(async () => (await shared.exec("pgrep -c sleep || true")).stdout.trim()).toBe("0");
  expect(await shared.exec(["sleep", "60"], { timeoutMs: 200 })).toMatchObject({ timedOut: true });
  expect((await shared.exec(["cat"], { stdin: "through" })).stdout).toBe("through");
});

test("lists can be iterated and filtered", async () => {
  const user = `lister-${Date.now()}`;
  const made = await Promise.all(
    [1, 2, 3].map((n) => berth.sessions.create({ externalUserId: user, autoStartAgent: false, metadata: { n: String(n) } })),
  );
  const listed: string[] = [];
  for await (const session of berth.sessions.list({ externalUserId: user, pageSize: 1 })) listed.push(session.sessionId);
  expect(listed.toSorted()).toEqual(made.map((session) => session.sessionId).toSorted());
  const filtered = await berth.sessions.list({ externalUserId: user, metadata: { n: "2" } }).page();
  expect(filtered.data.map((session) => session.sessionId)).toEqual([made[1]?.sessionId]);
  await Promise.all(made.map((session) => session.destroy()));
});

test("two creates with one idempotency key make one session", async () => {
  const idempotencyKey = crypto.randomUUID();
  const request = { externalUserId: "twice", autoStartAgent: false };
  const first = await berth.sessions.create(request, { idempotencyKey });
  const second = await berth.sessions.create(request, { idempotencyKey });
  expect(second.sessionId).toBe(first.sessionId);
  await first.destroy();
});

test("a session can be used before its create has finished", async () => {
  const pending = berth.sessions.create({ externalUserId: "hasty", autoStartAgent: false });
  expect((await pending.exec("echo there")).stdout).toBe("there\n");
  await (await pending).destroy();
  await expect(berth.sessions.create({ externalUserId: "" }).exec("echo never")).rejects.toThrow(ValidationError);
});

test("errors have their own classes", async () => {
  await expect(berth.sessions.create({ externalUserId: "" })).rejects.toThrow(ValidationError);
  await expect(berth.sessions.get("ses_nothing")).rejects.toThrow(SessionNotFoundError);
  const stranger = createBerth({ baseUrl: server.url, apiKey: `berth_${"0".repeat(64)}` });
  await expect(stranger.sessions.get("ses_nothing")).rejects.toThrow(UnauthorizedError);
});

test("events are listed, streamed and delivered to webhooks", async () => {
  const received: BerthEvent[] = [];
  await using receiver = await listen(
    async (request) => void received.push(await verifyWebhook(await text(request), request.headers, secret)),
  );
  const { id, secret } = await berth.webhooks.create({ url: receiver.url, types: ["session.created", "session.destroyed"] });
  const streamed: string[] = [];
  const abort = new AbortController();
  const before = await lastEventId();
  const listening = (async () => {
    for await (const event of berth.events.stream({ after: before, signal: abort.signal })) streamed.push(event.type);
  })();

  const session = await berth.sessions.create({ externalUserId: "events", autoStartAgent: false });
  await session.pause();
  await session.destroy();
  await expect.poll(() => streamed).toEqual(["session.created", "session.paused", "session.destroyed"]);
  abort.abort();
  await listening;
  const listed: string[] = [];
  for await (const event of berth.events.list({ after: before, pageSize: 2 })) listed.push(event.type);
  expect(listed).toEqual(streamed);

  await expect.poll(() => received.map((event) => event.type)).toEqual(["session.created", "session.destroyed"]);
  expect(received[0]?.data.sessionId).toBe(session.sessionId);
  // The server records the delivery after our response.
  const lastDelivered = async () => (await berth.webhooks.deliveries(id, { state: "delivered" }).page()).data[0];
  await expect.poll(lastDelivered).toMatchObject({ type: "session.destroyed", attempts: 1, lastStatus: 200 });
  const delivery = await lastDelivered();
  await berth.webhooks.redeliver(id, delivery!.id);
  await expect.poll(() => received.length).toBe(3);
  expect((await berth.webhooks.update(id, { enabled: false })).enabled).toBe(false);
  expect((await berth.webhooks.rotateSecret(id)).secret).not.toBe(secret);
  await berth.webhooks.remove(id);
  expect(await berth.webhooks.list()).toEqual([]);
});

test("a partner reads what its sessions used", async () => {
  const session = await berth.sessions.create({ externalUserId: "grace", autoStartAgent: false });
  await session.destroy();
  const { data } = await berth.usage({ groupBy: ["user", "session"] });
  const used = data.find(({ sessionId }) => sessionId === session.sessionId)!;
  expect(used).toMatchObject({ externalUserId: "grace", pausedSeconds: 0, estimatedCost: null });
  expect(used.runningSeconds).toBeGreaterThan(0);
  const [total] = (await berth.usage()).data;
  expect(total!.runningSeconds).toBeGreaterThan(used.runningSeconds);
  expect(await berth.usageCsv({ groupBy: ["user"] })).toMatch(/^grace,\d/m);
  await expect(berth.usage({ from: "yesterday" })).rejects.toThrow(ValidationError);
});

test("a partner creates, rotates and revokes its own keys", async () => {
  const reader = await berth.keys.create({ name: "Reports", scope: "read" });
  const reading = createBerth({ baseUrl: server.url, apiKey: reader.key });
  expect((await reading.sessions.list({ pageSize: 1 }).page()).data).toBeInstanceOf(Array);
  await expect(reading.sessions.create({ externalUserId: "reader" })).rejects.toMatchObject({ status: 403, code: "insufficient_scope" });
  const rotated = await berth.keys.rotate(reader.id, { overlapMs: 0 });
  expect(rotated).toMatchObject({ name: "Reports", scope: "read", state: "active" });
  await expect(reading.sessions.list().page()).rejects.toThrow(UnauthorizedError);
  expect(await berth.keys.revoke(rotated.id)).toMatchObject({ state: "revoked" });
  expect((await berth.keys.list()).filter(({ state }) => state === "active").map(({ scope }) => scope)).toEqual(["admin"]);
  expect((await runCli(server, "key", "list", server.partnerId)).stdout).toMatch(/Reports +read/);
});

test("concurrent calls for one user get one session, which is resumed when it is paused and replaced when it is destroyed", async () => {
  const settings = { autoStartAgent: false };
  // Two clients, as in two processes. One asks for other metadata.
  const other = createBerth({ baseUrl: server.url, apiKey: server.key });
  const calls = [0, 1, 2, 3, 4, 5].map((at) =>
    (at % 2 ? berth : other).sessions.forUser("jürgen", at === 5 ? { ...settings, metadata: { plan: "pro" } } : settings),
  );
  const opened = await Promise.all(calls);
  expect(new Set(opened.map(({ sessionId }) => sessionId)).size).toBe(1);
  const [session] = opened as [Session];
  await session.pause();
  const resumed = await Promise.all([berth.sessions.forUser("jürgen", settings), other.sessions.forUser("jürgen", settings)]);
  expect(resumed.map(({ sessionId, status }) => [sessionId, status])).toEqual([0, 1].map(() => [session.sessionId, "running"]));
  await session.destroy();
  const next = await Promise.all([berth.sessions.forUser("jürgen", settings), other.sessions.forUser("jürgen", settings)]);
  expect(new Set(next.map(({ sessionId }) => sessionId)).size).toBe(1);
  expect(next[0]).toMatchObject({ status: "running", externalUserId: "jürgen" });
  expect(next[0]!.sessionId).not.toBe(session.sessionId);
  await next[0]!.destroy();
});

async function lastEventId(): Promise<string | undefined> {
  let last: string | undefined;
  for await (const event of berth.events.list()) last = event.id;
  return last;
}

async function listen(receive: (request: IncomingMessage) => Promise<void>) {
  const receiver = createServer((request, response) => {
    receive(request).then(
      () => response.writeHead(200).end(),
      () => response.writeHead(500).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  return { url, [Symbol.asyncDispose]: async () => receiver.close().closeAllConnections() };
}
