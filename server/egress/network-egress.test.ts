import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { newId, type SandboxId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestClock, type TestClock } from "../testing/test-clock.ts";
import { silentLog } from "../log.ts";
import { createSecrets } from "../secrets/secrets.ts";
import { freePort } from "../network/free-port.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import { CHECK_MS } from "./admission.ts";
import { createNetworkEgress, POLICY_MS, type CurrentEgress, type NetworkEgress, type NetworkEgressOptions } from "./network-egress.ts";
import { openEgress } from "./open-egress.ts";
import { createEgressTokens } from "./egress-tokens.ts";

const sandboxId = newId("sbx", 1);
const OF_TEMPLATE: CurrentEgress = { egress: null, limitsVersion: 0, closedVersion: 0 };
const secrets = createSecrets([Buffer.alloc(32, 1)]);
let egress: NetworkEgress;
let clock: TestClock;
let web: Server;
let webPort: number;
// The answers of store and engine. A test that sets `outage` makes them fail.
let running: Set<SandboxId>;
let addresses: Map<SandboxId, string>;
let outage: boolean;
let open: (options?: Partial<NetworkEgressOptions>) => Promise<NetworkEgress>;
const servers: NetworkEgress[] = [];

beforeEach(async () => {
  web = createServer((_, response) => response.end("the world"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  webPort = (web.address() as AddressInfo).port;
  const templates = new Map([
    ["default", DEFAULT_TEMPLATE],
    ["closed", { ...DEFAULT_TEMPLATE, name: "closed", egress: { policy: "none" as const } }],
  ]);
  clock = createTestClock();
  running = new Set([sandboxId]);
  addresses = new Map([[sandboxId, "127.0.0.1"]]);
  outage = false;
  open = async (options = {}) => {
    const opened = await createNetworkEgress({
      listen: "127.0.0.1:0",
      tokens: createEgressTokens(secrets),
      templates,
      currentEgress: async (ids) => new Map(ids.map((id) => [id, OF_TEMPLATE])),
      clock,
      async running(ids) {
        if (outage) throw new Error("the database does not answer");
        return new Set(ids.filter((id) => running.has(id)));
      },
      isAddressOf: async (id, address) => addresses.get(id) === address,
      log: silentLog,
      allow: [`127.0.0.1:${webPort}`],
      onRelay(_, response, caller) {
        response.end(`the model for ${caller.sandboxId}`);
        return true;
      },
      ...options,
    });
    servers.push(opened);
    return opened;
  };
  egress = await open();
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
});

// Like the daemon: sends the token, then the bytes of a program in the sandbox.
async function say(firstLine: string, rest: string, { at = egress, from = "127.0.0.1" } = {}): Promise<string> {
  const socket = connect({ port: at.port, host: "127.0.0.1", localAddress: from });
  socket.write(`${firstLine}\n${rest}`);
  return await text(socket).catch(() => "cut");
}
const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const token = (template = "default") => egress.issueToken({ sandboxId, template });

test("a connection with a token is served under the policy of its template", async () => {
  expect(await say(token(), get(`http://127.0.0.1:${webPort}/`))).toContain("the world");
  expect(await say(token("closed"), get(`http://127.0.0.1:${webPort}/`))).toMatch(/403 .*no network access/s);
  expect(await say(token(), get("http://169.254.169.254/"))).toContain("403");
});

test("a session with its own policy is served under that policy, which no token changes", async () => {
  const world = get(`http://127.0.0.1:${webPort}/`);
  const own: CurrentEgress = { ...OF_TEMPLATE, egress: { policy: "none" } };
  await using closed = await open({ currentEgress: async () => new Map([[sandboxId, own]]) });
  for (const hasOwnPolicy of [true, false])
    expect(await say(closed.issueToken({ sandboxId, template: "default", hasOwnPolicy }), world, { at: closed })).toMatch(
      /403 .*no network access/s,
    );
  // Without a row there is no egress.
  await using unknown = await open({ currentEgress: async () => new Map() });
  expect(["", "cut"]).toContain(await say(token(), world, { at: unknown }));
});

test("a policy that another server has changed holds within a second, and closes what it forbids only if asked to", async () => {
  let row = OF_TEMPLATE;
  await using changing = await open({ currentEgress: async () => new Map([[sandboxId, row]]) });
  const socket = connect(changing.port, "127.0.0.1");
  socket.write(`${token()}\n`);
  const ask = async () => {
    socket.write(`GET http://127.0.0.1:${webPort}/ HTTP/1.1\r\nhost: x\r\n\r\n`);
    return String((await once(socket, "data"))[0]);
  };
  expect(await ask()).toContain("the world");
  const tunnel = connect(changing.port, "127.0.0.1");
  tunnel.write(`${token()}\nCONNECT 127.0.0.1:${webPort} HTTP/1.1\r\nhost: x\r\n\r\n`);
  expect(String((await once(tunnel, "data"))[0])).toContain("200");
  row = { egress: { policy: "none" }, limitsVersion: 1, closedVersion: 0 };
  await clock.advance(POLICY_MS);
  // The connection to the proxy was open before.
  expect(await ask()).toContain("403");
  expect(tunnel.destroyed).toBe(false);
  row = { ...row, limitsVersion: 2, closedVersion: 2 };
  const closed = once(tunnel, "close");
  await changing.change(sandboxId, { egress: { policy: "none" } }, { closeConnections: true });
  await closed;
  socket.destroy();
});

test("the model relay receives the sandbox id of the token", async () => {
  expect(await say(token(), get("/model/v1/messages"))).toContain(`the model for ${sandboxId}`);
});

test("CONNECT opens a tunnel", async () => {
  const tunnel = await new Promise<string>((resolve, reject) => {
    const socket = connect(egress.port, "127.0.0.1");
    socket.write(`${token()}\n`);
    const asked = request({ createConnection: () => socket, method: "CONNECT", path: `127.0.0.1:${webPort}` });
    asked.once("connect", (_response, tunnelled) => {
      tunnelled.write(get("/"));
      text(tunnelled).then(resolve, reject);
    });
    asked.once("error", reject).end();
  });
  expect(tunnel).toContain("the world");
});

test("a connection without a genuine token is closed without an answer", async () => {
  const genuine = token();
  const other = createEgressTokens(createSecrets([Buffer.alloc(32, 2)])).issue({ sandboxId, template: "default" });
  const forged = [
    "",
    "GET / HTTP/1.1",
    other,
    genuine.slice(0, -2),
    `${genuine}.`,
    genuine.replace(".default.", ".closed."),
    genuine.replace(sandboxId, newId("sbx", 2)),
    egress.issueToken({ sandboxId, template: "forgotten" }),
    "x".repeat(10_000),
  ];
  for (const line of forged) expect(["", "cut"]).toContain(await say(line, get(`http://127.0.0.1:${webPort}/`)));
  expect(egress.counters).toEqual({ allowed: 0, refused: 0 });
});

test("a token stays valid when the master key is rotated", async () => {
  const rotated = createEgressTokens(createSecrets([Buffer.alloc(32, 9), Buffer.alloc(32, 1)]));
  expect(rotated.check(token())).toEqual({ sandboxId, template: "default" });
});

test("closing the egress of a sandbox closes its connections", async () => {
  const socket = connect(egress.port, "127.0.0.1", () => socket.write(`${token()}\n`));
  await expect.poll(() => egress.close(sandboxId).then(() => socket.readyState)).toBe("closed");
});

const world = () => get(`http://127.0.0.1:${webPort}/`);
const refused = ["", "cut"];

// A tunnel that stays open.
async function holdTunnel(at = egress): Promise<Socket> {
  const socket = connect({ port: at.port, host: "127.0.0.1", localAddress: addresses.get(sandboxId) }).on("error", () => {});
  socket.write(`${token()}\nCONNECT 127.0.0.1:${webPort} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("200");
  return socket.resume();
}

test("a token is valid only from the sandbox's own address", async () => {
  expect(refused).toContain(await say(token(), world(), { from: "127.0.0.9" }));
  expect(refused).toContain(await say(token(), get("/model/v1/messages"), { from: "127.0.0.9" }));
  expect(await say(token(), world())).toContain("the world");
});

test("a token is valid only while the session runs", async () => {
  running.delete(sandboxId);
  expect(refused).toContain(await say(token(), world()));
  running.add(sandboxId);
  await clock.advance(CHECK_MS);
  expect(await say(token(), world())).toContain("the world");
});

test("when a session ends, every server closes its connections within seconds", async () => {
  const replicas = [egress, await open()];
  const tunnels = await Promise.all(replicas.map((replica) => holdTunnel(replica)));
  await clock.advance(5 * CHECK_MS);
  expect(tunnels.map(({ closed }) => closed)).toEqual([false, false]);
  const closed = tunnels.map((tunnel) => once(tunnel, "close"));
  running.delete(sandboxId);
  await clock.advance(CHECK_MS);
  await Promise.all(closed);
  // A server that closed a connection does not cache the earlier permission.
  for (const at of replicas) expect(refused).toContain(await say(token(), world(), { at }));
});

test("a sandbox that resumes elsewhere is served at its new address only", async () => {
  const before = await holdTunnel();
  const closed = once(before, "close");
  addresses.set(sandboxId, "127.0.0.7");
  await clock.advance(CHECK_MS);
  await closed;
  expect(refused).toContain(await say(token(), world()));
  expect(await say(token(), world(), { from: "127.0.0.7" })).toContain("the world");
});

test("while the database does not answer, known sandboxes are served and new ones are refused", async () => {
  const tunnel = await holdTunnel();
  outage = true;
  await clock.advance(5 * CHECK_MS);
  expect(await say(token(), world())).toContain("the world");
  expect(tunnel.closed).toBe(false);
  const other = newId("sbx", 2);
  running.add(other);
  addresses.set(other, "127.0.0.1");
  expect(refused).toContain(await say(egress.issueToken({ sandboxId: other, template: "default" }), world()));
  outage = false;
  await clock.advance(CHECK_MS);
  expect(await say(egress.issueToken({ sandboxId: other, template: "default" }), world())).toContain("the world");
});

test("connections without a token are bounded per address and do not affect other addresses", async () => {
  const small = await open({ maxConnections: 4 });
  const silent = Array.from({ length: 60 }, () =>
    connect({ port: small.port, host: "127.0.0.1", localAddress: "127.0.0.9" }).on("error", () => {}),
  );
  await expect.poll(() => silent.filter(({ closed }) => closed).length).toBe(60 - 36);
  expect(await say(token(), world(), { at: small })).toContain("the world");
  for (const socket of silent) socket.destroy();
});

test("an address that floods is locked out before its token is checked", async () => {
  const strict = await open({ maxPerSecond: 5, floodRestMs: 600_000 });
  const other = newId("sbx", 2);
  running.add(other);
  addresses.set(other, "127.0.0.9");
  for (let i = 0; i < 10; i++) await say("nonsense", "", { at: strict, from: "127.0.0.9" });
  const otherToken = egress.issueToken({ sandboxId: other, template: "default" });
  expect(refused).toContain(await say(otherToken, world(), { at: strict, from: "127.0.0.9" }));
  expect(await say(token(), world(), { at: strict })).toContain("the world");
});

test.each([
  ["sandbox", false, true],
  ["node", false, false],
  ["node", true, true],
  [null, true, false],
] as const)("an address that is the %s's is good where BERTH_EGRESS_MASQUERADED is %s: %s", async (owner, egressMasqueraded, good) => {
  const listen = `127.0.0.1:${await freePort("127.0.0.1")}`;
  await using opened = await openEgress({
    ownPorts: [],
    config: { dataDir: "", egressAllow: [`127.0.0.1:${webPort}`], egressListen: listen, egressMasqueraded },
    driver: { traits: { hostBound: false, freezes: false, isolates: true }, addressOwner: async () => owner },
    running: async (ids) => new Set(ids),
    currentEgress: async (ids) => new Map(ids.map((id) => [id, OF_TEMPLATE])),
    clock,
    secrets,
    templates: new Map([["default", DEFAULT_TEMPLATE]]),
    log: silentLog,
  });
  const answer = await say(opened.issueToken!({ sandboxId, template: "default" }), world(), { at: opened as NetworkEgress });
  expect(answer.includes("the world")).toBe(good);
});
