import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { newId } from "@berth/contract";
import { describeForwarder } from "@berth/contract/forwarding/forwarding.suite.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createUpstreamDial } from "../../egress/dial-upstream.ts";
import { silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { createSandboxTokens } from "../sandbox-tokens.ts";
import { createSessionRelays, type RelayedRequest, type SessionRelays } from "./session-relay.ts";

const SECRET = "the-secret-value";
const sandboxId = newId("sbx", 1);
const secrets = createSecrets([randomBytes(32)]);
let answerWith: RequestListener;
let seen: IncomingMessage[];
let upstream: Server;
let proxy: Server;
let relays: SessionRelays;
let base: string;
let counted: RelayedRequest[];

beforeEach(async () => {
  seen = [];
  counted = [];
  answerWith = (_request, response) => void response.end("fine");
  upstream = createServer((request, response) => {
    seen.push(request);
    answerWith(request, response);
  });
  base = `http://127.0.0.1:${await listen(upstream)}`;
  relays = open([base.slice("http://".length)]);
  proxy = createServer((request, response) => relays.handle(request, response, { sandboxId, count: () => {}, note: () => () => {} }));
  await listen(proxy);
});

afterEach(async () => {
  for (const server of [upstream, proxy]) {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }
});

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

const found = () => [
  { name: "API", upstream: `${base}/v1`, header: "X-Api-Key", value: SECRET, label: "session" },
  { name: "git", upstream: `${base}/acme/shop.git`, header: "authorization", value: `Basic ${SECRET}`, label: "git" },
];

const open = (allow: string[], options = {}) =>
  createSessionRelays({
    find: async () => ({ partnerId: "acme", relays: found() }),
    onRelayed: (request) => void counted.push(request),
    dial: createUpstreamDial({ allow }),
    secrets,
    log: silentLog,
    ...options,
  });

const access = () => relays.access(sandboxId, DEFAULT_TEMPLATE, found());
const apiPath = () => new URL(access().env["BERTH_RELAY_API"]!).pathname;
const gitPath = () => new URL(access().gitConfig[0]![0].slice("url.".length, -".insteadOf".length)).pathname;

async function ask(path: string, options: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
  const { port } = proxy.address() as AddressInfo;
  const request = httpRequest({ host: "127.0.0.1", port, path, method: options.method ?? "GET", headers: options.headers, agent: false });
  request.end(options.body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

test("a request reaches the upstream with the header of the server, whatever the sandbox sends in its place", async () => {
  const headers = { "x-api-key": "forged", "X-Own": "kept", host: "elsewhere.example", "Proxy-Authorization": "x" };
  expect(await ask(`${apiPath()}/list?all=1`, { method: "POST", body: "hello", headers })).toMatchObject({ status: 200, text: "fine" });
  expect(seen[0]).toMatchObject({ method: "POST", url: "/v1/list?all=1" });
  expect(seen[0]?.headers).toMatchObject({ "x-api-key": SECRET, "x-own": "kept", host: base.slice("http://".length) });
  expect(seen[0]?.headers).not.toHaveProperty("proxy-authorization");
});

test("a stream of events arrives as it is sent, with its headers first", async () => {
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  answerWith = (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    void mayGoOn.then(() => response.write("data: one\n\n"));
  };
  const { port } = proxy.address() as AddressInfo;
  const request = httpRequest({ host: "127.0.0.1", port, path: `${apiPath()}/events`, agent: false });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  goOn();
  const [chunk] = (await once(response, "data")) as [Buffer];
  expect(String(chunk)).toBe("data: one\n\n");
  request.destroy();
  await expect.poll(() => counted).toHaveLength(1);
});

test("requests and the bytes of their bodies are counted, also those that are refused", async () => {
  await ask(`${apiPath()}/list`, { method: "POST", body: "hello" });
  await ask(`${apiPath()}/../admin`);
  expect(counted).toEqual([
    { partnerId: "acme", relay: "session", outcome: "passed_on", sentBytes: 5, receivedBytes: 4 },
    { partnerId: "acme", relay: "session", outcome: "refused", sentBytes: 0, receivedBytes: 0 },
  ]);
});

// Readings of `..` that some servers have and others do not.
const HIDDEN_DOTS = [
  "/..;/admin",
  "/..;x=1/admin",
  "/%2e%2e;/admin",
  "/%2e%2e%3b/admin",
  "/%252e%252e/admin",
  "/%25252e%25252e/admin",
  "/..%252fadmin",
  "/..%00/admin",
  "/list%00.json",
  "/list%2500",
  "/list%0d%0ax",
  "/..%20/admin",
  "/%25252525252e",
];

test("dots, signs of percent and parameters in names pass", async () => {
  for (const rest of ["/a..b", "/...", "/.git;v=1", "/100%25", "/100%2525", "/a%2Fb", "/a;b=..", "/%e2%82%ac"])
    expect({ rest, ...(await ask(`${apiPath()}${rest}`)) }).toMatchObject({ rest, status: 200 });
});

test("only addresses below the upstream are reached, and no method that returns the header", async () => {
  for (const rest of [
    "/../admin",
    "/%2e%2e/admin",
    "/..%2fadmin",
    "/a/..%5c..%5cadmin",
    "/%zz",
    "x",
    "@elsewhere.example/",
    ...HIDDEN_DOTS,
  ])
    expect(await ask(`${apiPath()}${rest}`)).toMatchObject({ status: expect.toBeOneOf([403, 404]) });
  expect(await ask(`${apiPath()}/`, { method: "TRACE" })).toMatchObject({ status: 405 });
  expect(await ask("/relay/another-sandboxes-token/API/list")).toMatchObject({ status: 403 });
  expect(await ask(apiPath().replace("/API", "/OTHER"))).toMatchObject({ status: 404 });
  expect(seen).toEqual([]);
});

test("a body in chunks reaches the upstream as one, also with a method and to a relay that have none", async () => {
  const bodies: string[] = [];
  answerWith = (request, response) =>
    void text(request).then((body) => {
      bodies.push(body);
      response.end();
    });
  const headers = { "transfer-encoding": "chunked", connection: "close, transfer-encoding" };
  for (const path of [`${apiPath()}/list`, `${gitPath()}/info/refs?service=git-upload-pack`])
    expect(await ask(path, { method: "GET", body: "GET /admin HTTP/1.1\r\n\r\n", headers })).toMatchObject({ status: 200 });
  expect(bodies).toEqual(["GET /admin HTTP/1.1\r\n\r\n", "GET /admin HTTP/1.1\r\n\r\n"]);
});

test("a redirect within the upstream stays in the relay, and any other one leads away from it", async () => {
  answerWith = (request, response) =>
    void response.writeHead(302, { location: request.url === "/v1/in" ? "/v1/there?x=1" : "http://elsewhere.example/" }).end();
  expect((await ask(`${apiPath()}/in`)).headers.location).toBe(`${apiPath()}/there?x=1`);
  expect((await ask(`${apiPath()}/out`)).headers.location).toBe("http://elsewhere.example/");
});

test("the relay of a repository passes on git's protocol for that repository, and nothing else", async () => {
  expect(await ask(`${gitPath()}/info/refs?service=git-upload-pack`)).toMatchObject({ status: 200 });
  expect(seen[0]).toMatchObject({ url: "/acme/shop.git/info/refs?service=git-upload-pack" });
  expect(seen[0]?.headers.authorization).toBe(`Basic ${SECRET}`);
  const refused = [
    ["GET", "/info/refs"],
    ["GET", "/info/refs?service=git-upload-pack&x=1"],
    ["GET", "/config"],
    ["GET", "/git-upload-pack"],
    ["POST", "/info/lfs/objects/batch"],
    ["GET", "-two/info/refs?service=git-upload-pack"],
    ["GET", "/../other.git/info/refs?service=git-upload-pack"],
  ] as const;
  for (const [method, rest] of refused) {
    const answer = await ask(`${gitPath()}${rest}`, { method });
    expect(answer).toMatchObject({ status: 403, text: "berth: The token of this session is only for its own repository.\n" });
  }
  expect(seen).toHaveLength(1);
});

test("a git server that refuses or redirects is explained, and its challenge does not reach git", async () => {
  const answers: [number, string][] = [
    [401, "The git server did not accept the token."],
    [404, "The repository does not exist, or the token does not allow this."],
    [301, "The git server redirects to another address. Create the session with that address."],
    [400, "The git server answered with status 400."],
    [503, "The git server answered with status 503."],
  ];
  for (const [status, sentence] of answers) {
    answerWith = (_request, response) =>
      void response.writeHead(status, { "www-authenticate": "Basic", location: "/elsewhere" }).end(`Bad: ${SECRET}`);
    const answer = await ask(`${gitPath()}/info/refs?service=git-upload-pack`);
    expect(answer.text).toBe(`berth: ${sentence}\n`);
    expect(answer.headers).not.toHaveProperty("www-authenticate");
    expect(answer.headers).not.toHaveProperty("location");
  }
});

test("private addresses are refused unless the operator allows them", async () => {
  relays = open([]);
  const answer = await ask(`${apiPath()}/list`);
  expect(answer.status).toBe(502);
  expect(answer.text).toMatch(/cannot be reached: port \d+ is not allowed, unless the operator names it in BERTH_EGRESS_ALLOW/);
  expect(seen).toEqual([]);
});

test("a transfer beyond the limit is cut, in both directions, and an upstream that vanishes ends only its own request", async () => {
  relays = open([base.slice("http://".length)], { maxBytes: 1000 });
  answerWith = (request, response) => void request.resume().on("end", () => response.end());
  expect(await ask(`${apiPath()}/`, { method: "POST", body: "x".repeat(2000) })).toMatchObject({ status: 413 });
  answerWith = (_request, response) => void response.end("x".repeat(5000));
  await expect(ask(`${apiPath()}/`)).rejects.toThrow(/aborted|hang up/);
  answerWith = (request) => void request.socket.destroy();
  expect(await ask(`${apiPath()}/`)).toMatchObject({ status: 502 });
});

test("a sandbox has a limited number of requests at once", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  answerWith = (_request, response) => void promise.then(() => response.end("late"));
  const { port } = proxy.address() as AddressInfo;
  const sockets = Array.from({ length: 32 }, () => connect(port, "127.0.0.1"));
  for (const socket of sockets) socket.write(`GET ${apiPath()}/ HTTP/1.1\r\nhost: x\r\n\r\n`);
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(32);
  expect(await ask(`${apiPath()}/`)).toMatchObject({ status: 429 });
  resolve();
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await ask(`${apiPath()}/`)).status, { timeout: 30_000 }).toBe(200);
});

for (const [name, relay, get, post] of [
  ["a session's relay", "API", "GET /list", "POST /list"],
  ["a repository's relay", "git", "GET /repository/info/refs?service=git-upload-pack", "POST /repository/git-upload-pack"],
] as const)
  describeForwarder(name, async ({ port }) => {
    const faults: string[] = [];
    const log = { ...silentLog, error: (event: string) => void faults.push(event) };
    const base = `http://127.0.0.1:${port}`;
    const upstreams = [
      { name: "API", upstream: base, header: "X-Api-Key", value: SECRET, label: "session" },
      { name: "git", upstream: `${base}/shop.git`, header: "authorization", value: SECRET, label: "git" },
    ];
    const find = async () => ({ partnerId: "acme", relays: upstreams });
    const hostile = createSessionRelays({ find, dial: createUpstreamDial({ allow: [`127.0.0.1:${port}`] }), secrets, log });
    const server = createServer((request, response) => hostile.handle(request, response, { sandboxId, count() {}, note: () => () => {} }));
    const address = await listen(server);
    const token = createSandboxTokens(secrets, "relay").issue(sandboxId);
    const requestFor = (line: string) => `${line.replace(" ", ` /relay/${token}/${relay}`)} HTTP/1.1\r\nhost: x`;
    return {
      connect: () => connect(address, "127.0.0.1"),
      requests: { get: requestFor(get), post: requestFor(post) },
      faults: () => faults,
      async [Symbol.asyncDispose]() {
        server.close();
        server.closeAllConnections();
        await once(server, "close");
      },
    };
  });
