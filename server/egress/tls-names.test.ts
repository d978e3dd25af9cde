import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import type { EgressPolicy } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTlsFront, type TlsFront } from "../../tests/support/servers/tls.ts";
import { checkTunnel, TLS_ALERT, type CheckedTunnel } from "./proxy/check-tunnel.ts";
import { ENCRYPTED_CLIENT_HELLO, extension, hello, helloMessage, records, serverName } from "./testing/client-hellos.ts";
import { listen, PUBLIC, useTestEgress } from "./testing/use-test-egress.ts";

// Under a policy with hosts, a tunnel with TLS must be for the host that its hello names.

const { id, warnings, current, open, get, tunnel, socketPath } = useTestEgress();
const NAME = "site.example";
let front: TlsFront;
// Keeps what it receives, and speaks first.
let raw: Server;
let rawPort: number;
let received: Promise<Buffer>;

beforeEach(async () => {
  front = await openTlsFront(() => current.webPort);
  const got = Promise.withResolvers<Buffer>();
  received = got.promise;
  raw = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {}).write("welcome");
    buffer(socket).then((bytes) => (socket.end("bye"), got.resolve(bytes)), got.reject);
  });
  rawPort = await listen(raw);
});
afterEach(async () => {
  raw.close();
  await front[Symbol.asyncDispose]();
});

const openHosts = (changes: { headersTimeoutMs?: number } = {}) => {
  const hosts = [NAME, "127.0.0.1"].flatMap((host) => [front.port, rawPort].map((port) => `${host}:${port}`));
  return openWith({ policy: "hosts", hosts }, changes);
};
const openWith = (policy: EgressPolicy, changes: object = {}) =>
  open(policy, { resolve: async () => ["127.0.0.1"], allow: [`127.0.0.1:${front.port}`, `127.0.0.1:${rawPort}`], ...changes });

// The answer of the web server behind the TLS server, or the error of the client.
async function browse(host: string, servername: string | undefined, hostHeader = host): Promise<string> {
  const { status, socket } = await tunnel(`${host}:${front.port}`);
  expect(status).toBe(200);
  const secure = connectTls({ socket, rejectUnauthorized: false, ...(servername !== undefined && { servername }) });
  secure.write(`GET / HTTP/1.1\r\nhost: ${hostHeader}\r\nconnection: close\r\n\r\n`);
  return text(secure).catch((error: unknown) => String(error));
}

test("a client that names the host of its tunnel is served, and one that names another or none is not", async () => {
  await openHosts();
  expect(await browse(NAME, NAME)).toContain("200 OK");
  expect(await browse(NAME, "SITE.example")).toContain("200 OK");
  expect(warnings).toEqual([]);
  expect(await browse(NAME, "other.example")).toMatch(/unrecognized name/);
  expect(await browse(NAME, undefined)).toMatch(/unrecognized name/);
  expect(warnings.map(({ reason }) => reason)).toEqual([
    `the TLS connection is for other.example, and the tunnel for ${NAME}`,
    `the TLS connection names no server, and the tunnel is for ${NAME}`,
  ]);
  expect(
    current.egress
      .takeHosts()
      .get(id)!
      .filter(({ outcome }) => outcome === "refused"),
  ).toHaveLength(2);
});

test("an address is reached without a name, and not with one", async () => {
  await openHosts();
  expect(await browse("127.0.0.1", undefined)).toContain("200 OK");
  expect(await browse("127.0.0.1", NAME)).toMatch(/unrecognized name/);
});

// docs/isolation.md says so: what is encrypted, the proxy does not see.
test("the Host header in a tunnel may name another host than its TLS name, and plain requests may not", async () => {
  await openHosts();
  expect(await browse(NAME, NAME, "fronted.example")).toContain("x-seen-host: fronted.example");
  await openWith({ policy: "hosts", hosts: [`${NAME}:${current.webPort}`] }, { allow: [`127.0.0.1:${current.webPort}`] });
  const plain = await get(`http://${NAME}:${current.webPort}/`, { headers: { host: "fronted.example" } });
  expect(plain.headers["x-seen-host"]).toBe(`${NAME}:${current.webPort}`);
});

test("a policy that restricts no hosts does not look at the name", async () => {
  await openWith(PUBLIC);
  expect(await browse("127.0.0.1", "other.example")).toContain("200 OK");
});

// Sends pieces through a tunnel to the server that keeps what it receives.
async function send(pieces: Buffer[]): Promise<{ socket: Socket; answer: Promise<Buffer> }> {
  const { socket } = await tunnel(`${NAME}:${rawPort}`);
  const answer = buffer(socket);
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise(setImmediate);
  }
  return { socket, answer };
}

test("the outer name of an encrypted hello counts, and its bytes arrive unchanged, in whatever pieces they came", async () => {
  const encrypted = extension(ENCRYPTED_CLIENT_HELLO, Buffer.alloc(200, 9));
  const bytes = Buffer.concat([records(helloMessage([encrypted, serverName(NAME)]), 20), Buffer.from("more")]);
  await openHosts();
  const { socket, answer } = await send([...bytes.subarray(0, 30)].map((byte) => Buffer.from([byte])).concat(bytes.subarray(30)));
  socket.end();
  expect(await received).toEqual(bytes);
  expect(String(await answer)).toBe("welcomebye");
});

test("an encrypted hello with another outer name is refused, and nothing of it reaches the server", async () => {
  await openHosts();
  const { answer } = await send([hello(serverName("public.example"), extension(ENCRYPTED_CLIENT_HELLO, Buffer.alloc(200, 9)))]);
  expect(await answer).toEqual(Buffer.concat([Buffer.from("welcome"), TLS_ALERT]));
  expect(await received).toEqual(Buffer.alloc(0));
});

test("a hello that does not become complete ends in time, and so does one whose sender leaves", async () => {
  await openHosts({ headersTimeoutMs: 300 });
  const { answer } = await send([hello(serverName(NAME)).subarray(0, 40)]);
  expect(String(await answer)).toContain("welcome");
  expect(await received).toEqual(Buffer.alloc(0));
  expect(warnings.at(-1)?.reason).toBe("the tunnel began with an incomplete TLS message");
});

test("another protocol may pass, also if the server speaks first and the sandbox says nothing", async () => {
  await openHosts();
  const { socket } = await tunnel(`${NAME}:${rawPort}`);
  expect(String((await once(socket, "data"))[0])).toBe("welcome");
  socket.end("SSH-2.0-client\r\n");
  expect(String(await received)).toBe("SSH-2.0-client\r\n");
});

test("a tunnel whose sandbox says nothing ends on both sides", async () => {
  await openHosts();
  const { socket } = await tunnel(`${NAME}:${rawPort}`);
  socket.end();
  expect(await received).toEqual(Buffer.alloc(0));
  expect(await text(socket)).toBe("welcomebye");
});

test.each(["", "SSH-2.0-client\r\n"])("a sandbox that ends at once with %j ends the tunnel on both sides", async (said) => {
  await openHosts();
  const socket = connect({ path: socketPath(), allowHalfOpen: true });
  socket.end(`CONNECT ${NAME}:${rawPort} HTTP/1.1\r\nhost: x\r\n\r\n${said}`);
  expect(String(await received)).toBe(said);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*welcomebye$/s);
});

// Ports below 1024 are not for tests, so the check is called itself.
test.each([
  [443, "GET / HTTP/1.1\r\n", "port 443 is allowed only for TLS"],
  [8443, "SSH-2.0-client\r\n", "port 8443 is allowed only for TLS"],
  [443, "", undefined],
  [80, "GET / HTTP/1.1\r\n", undefined],
  [22, "SSH-2.0-client\r\n", undefined],
])("on port %i, %j is refused with %s", async (port, said, reason) => {
  const [inner, sandbox] = duplexPair();
  const outcome = new Promise<CheckedTunnel>((resolve) =>
    checkTunnel(inner, { host: NAME, port }, { head: Buffer.from(said), timeoutMs: 1_000 }, resolve),
  );
  sandbox.end();
  expect(await outcome).toEqual(reason === undefined ? { sent: said === "" ? [] : [Buffer.from(said)] } : { reason, isTls: false });
});
