import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ssh2, { type Client, type SFTPWrapper } from "ssh2";
import { expect, test } from "vitest";
import { createWebSocketStream, type WebSocket } from "ws";
import { createKey } from "./host-key.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

test("the host key is created once, is the user's alone, and survives a restart of the daemon", async () => {
  await using daemon = await startTestDaemon();
  const first = await hostKey(daemon);
  expect(first).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]{68}$/);
  const file = join(daemon.home, ".berth/work/ssh/host_key");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await daemon.stop();
  await daemon.restart();
  expect(await hostKey(daemon)).toBe(first);
  // Code in the sandbox can write to it.
  writeFileSync(file, "no key");
  await daemon.stop();
  await daemon.restart();
  expect(await hostKey(daemon)).toMatch(/^ssh-ed25519 /);
});

test("every host key that is created can be read again", () => {
  for (let i = 0; i < 1000; i++) expect(createKey().public).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]{68}$/);
});

test("garbage after the handshake, at any place, ends that connection only", async () => {
  await using daemon = await startTestDaemon();
  for (let round = 0; round < 20; round++) {
    const { client, socket } = await connect(daemon);
    const closed = once(socket, "close");
    socket.send(randomBytes(1 + 37 * round * round));
    // A few bytes may look like the beginning of a packet.
    socket.send(Buffer.alloc(40_000));
    await closed;
    client.destroy();
  }
  expect((await daemon.fetch("/health")).status).toBe(200);
});

test("channels, connections and listeners are limited, and free again when they have ended", async () => {
  await using daemon = await startTestDaemon();
  const { client } = await connect(daemon);
  const open = () => new Promise<Error | undefined>((resolve) => client.exec("cat", (error) => resolve(error)));
  const results = await Promise.all(Array.from({ length: 70 }, open));
  expect(results.filter((error) => error === undefined)).toHaveLength(64);
  const listen = () => new Promise<boolean>((resolve) => client.forwardIn("127.0.0.1", 0, (error) => resolve(!error)));
  const listeners = await Promise.all(Array.from({ length: 20 }, listen));
  expect(listeners.filter(Boolean)).toHaveLength(16);
  const others = await Promise.all(Array.from({ length: 15 }, () => connect(daemon)));
  const refused = daemon.connect("/ssh");
  refused.on("error", () => {});
  const [, response] = (await once(refused, "unexpected-response")) as [unknown, { statusCode: number }];
  expect(response.statusCode).toBe(409);
  for (const one of [client, ...others.map((other) => other.client)]) one.end();
  await expect
    .poll(async () => {
      const again = await connect(daemon).catch(() => null);
      again?.client.end();
      return again !== null;
    })
    .toBe(true);
});

test("SFTP refuses what it cannot read, and answers the next request", async () => {
  await using daemon = await startTestDaemon();
  const { client } = await connect(daemon);
  const sftp = await new Promise<SFTPWrapper>((resolve, reject) => client.sftp((error, made) => (error ? reject(error) : resolve(made))));
  const failure = (act: (done: (error?: Error | null) => void) => void) =>
    new Promise((resolve) => act((error) => resolve(error?.message)));
  expect(await failure((done) => sftp.stat("missing", done))).toBe("No such file or directory");
  expect(await failure((done) => sftp.readdir("/proc/self/environ", done))).toMatch(/Not a directory/);
  // A pipe without a writer must not block.
  await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "mkfifo ~/pipe" } });
  expect(await failure((done) => sftp.open("pipe", "r", done))).toBe("Not a regular file");
  expect(await failure((done) => sftp.writeFile("file", "text", done))).toBeUndefined();
  expect(await failure((done) => sftp.rename("file", "pipe", done))).toBe("File exists");
  expect(await failure((done) => sftp.ext_openssh_rename("file", "pipe", done))).toBeUndefined();
  const space = await new Promise<{ f_bavail: number }>((resolve, reject) =>
    sftp.ext_openssh_statvfs(".", (error, found) => (error ? reject(error) : resolve(found as { f_bavail: number }))),
  );
  expect(space.f_bavail).toBeGreaterThan(0);
  client.end();
});

const hostKey = async (daemon: TestDaemon) => (await daemon.fetch<{ hostKey: string }>("/ssh")).json.hostKey;

async function connect(daemon: TestDaemon): Promise<{ client: Client; socket: WebSocket }> {
  const socket = daemon.connect("/ssh");
  const client = new ssh2.Client();
  client.on("error", () => {});
  const ready = new Promise((resolve, reject) => {
    client.once("ready", () => resolve(null));
    client.once("close", () => reject(new Error("the connection was closed")));
    socket.once("error", reject);
  });
  const stream = createWebSocketStream(socket);
  stream.on("error", () => {});
  client.connect({ sock: stream, username: "anyone" });
  await ready;
  return { client, socket };
}
