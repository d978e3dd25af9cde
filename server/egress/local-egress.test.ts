import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { newId, type EgressPolicy, type SandboxId } from "@berth/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog, type Log } from "../log.ts";
import type { Egress } from "./egress.ts";
import { createLocalEgress, type LocalEgressOptions } from "./local-egress.ts";
import { isPublicAddress } from "../network/public-address.ts";

const PUBLIC: EgressPolicy = { policy: "public" };

describe("addresses", () => {
  test.each([
    ["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"],
    [
      "255.255.255.255",
      "240.0.0.1",
      "198.18.0.1",
      "192.0.0.192",
      "168.63.129.16",
      "::ffff:a83f:8110",
      "192.0.2.1",
      "198.51.100.1",
      "203.0.113.1",
    ],
    ["::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "100::1", "2001:db8::1"],
    // IPv4 inside IPv6: mapped, compatible, translated, NAT64 (known and local prefix), 6to4, Teredo.
    ["::ffff:127.0.0.1", "::ffff:8.8.8.8.", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1"],
    ["64:ff9b:1::10.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "not an address", ""],
  ])("%s and its like are not public", (...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  test("addresses of the Internet are public", () => {
    expect(["8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"].filter((one) => !isPublicAddress(one))).toEqual([]);
  });
});

describe("egress", () => {
  let dataDir: string;
  let web: Server;
  let webPort: number;
  let egress: Egress;
  const id: SandboxId = newId("sbx", 1);
  const log: { host?: string; reason?: string }[] = [];
  const listeningLog: Log = { ...silentLog, warn: (_event, fields) => void log.push(fields ?? {}) };

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "berth-egress-"));
    log.length = 0;
    web = createServer((asked, response) => {
      if (asked.url === "/redirect") return void response.writeHead(302, { location: "http://169.254.169.254/latest" }).end();
      response.writeHead(200, { "x-seen-host": asked.headers.host, "x-seen-proxy": String(asked.headers["proxy-authorization"]) });
      asked.pipe(response);
    });
    webPort = await listening(web);
  });
  afterEach(async () => {
    await egress[Symbol.asyncDispose]();
    web.closeAllConnections();
    web.close();
    rmSync(dataDir, { recursive: true });
  });

  const open = async (policy: EgressPolicy, options: Partial<LocalEgressOptions> = {}) => {
    egress = createLocalEgress({ dataDir, log: listeningLog, allow: [`127.0.0.1:${webPort}`], ...options });
    await egress.open(id, { egress: policy });
  };
  const socketPath = (sandboxId = id) => join(dataDir, "egress", sandboxId, "proxy.sock");
  const get = (url: string, options: { method?: string; body?: string; headers?: Record<string, string> } = {}) =>
    new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const asked = request(
        { socketPath: socketPath(), path: url, method: options.method ?? "GET", headers: options.headers ?? {}, agent: false },
        (response) => {
          text(response).then((body) => resolve({ status: response.statusCode, headers: response.headers, body }), reject);
        },
      );
      asked.on("error", reject).end(options.body);
    });
  const tunnel = (authority: string, sandboxId = id) =>
    new Promise<{ status: number | undefined; socket: Socket }>((resolve, reject) => {
      const asked = request({ socketPath: socketPath(sandboxId), method: "CONNECT", path: authority, agent: false });
      asked.on("connect", (response, socket) => resolve({ status: response.statusCode, socket }));
      asked.on("error", reject).end();
    });
  const statusOfTunnel = async (authority: string) => {
    const { status, socket } = await tunnel(authority);
    socket.destroy();
    return status;
  };

  test("plain requests pass with their body, and the host asked for is the host that was checked", async () => {
    await open(PUBLIC);
    const headers = { host: "elsewhere.example", "proxy-authorization": "Basic c2VjcmV0" };
    const answer = await get(`http://127.0.0.1:${webPort}/echo`, { method: "POST", body: "hello", headers });
    expect(answer).toMatchObject({ status: 200, body: "hello" });
    expect(answer.headers).toMatchObject({ "x-seen-host": `127.0.0.1:${webPort}`, "x-seen-proxy": "undefined" });
    expect(egress.counters).toEqual({ allowed: 1, refused: 0 });
  });

  test("CONNECT makes a tunnel", async () => {
    await open(PUBLIC);
    const { status, socket } = await tunnel(`127.0.0.1:${webPort}`);
    expect(status).toBe(200);
    socket.end("GET /x HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).toContain("x-seen-host: me");
  });

  test("a name is resolved once and the checked address is dialled", async () => {
    let asked = 0;
    // A name server that answers truthfully first and with loopback from then on.
    const resolve = async () => (asked++ === 0 ? ["203.0.113.9", "127.0.0.1"] : ["127.0.0.1"]);
    await open(PUBLIC, { resolve, allow: [] });
    expect(await statusOfTunnel("rebinding.example:443")).toBe(403);
    expect(asked).toBe(1);
  });

  test("among several addresses only permitted ones are dialled", async () => {
    await open(PUBLIC, { resolve: async () => ["10.0.0.1", "169.254.169.254", "127.0.0.1"] });
    expect(await get(`http://mixed.example:${webPort}/`)).toMatchObject({ status: 200 });
  });

  test.each([
    "http://127.0.0.1/",
    "http://localhost/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://0.0.0.0/",
    "http://127.0.0.1.:80/",
    "http://user:pw@127.0.0.1/",
    "http://127.0.0.1:25/",
    "https://example.com/",
    "ftp://example.com/",
    "http://",
  ])("%s is refused", async (url) => {
    await open(PUBLIC, { allow: [] });
    expect(await get(url)).toMatchObject({ status: 403 });
    expect(log).toHaveLength(1);
  });

  test.each([
    "127.0.0.1:80",
    "localhost:443",
    "[::1]:443",
    "[::ffff:169.254.169.254]:80",
    "2130706433:80",
    "8.8.8.8:25",
    "8.8.8.8:0",
    "8.8.8.8:99999",
    "8.8.8.8",
    ":80",
    "a b:80",
  ])("a tunnel to %s is refused", async (authority) => {
    await open(PUBLIC, { allow: [] });
    const asked = connect(socketPath());
    asked.write(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await text(asked)).not.toContain("200");
  });

  test("a redirect comes back as it is: to follow it is another request", async () => {
    await open(PUBLIC);
    const answer = await get(`http://127.0.0.1:${webPort}/redirect`);
    expect(answer.status).toBe(302);
    expect(await get(String(answer.headers.location))).toMatchObject({ status: 403 });
  });

  test("policy none refuses everything, even what the operator allows", async () => {
    await open({ policy: "none" });
    expect(await get(`http://127.0.0.1:${webPort}/`)).toMatchObject({ status: 403, body: "berth: this sandbox has no way out\n" });
    expect(log).toMatchObject([{ host: "127.0.0.1", reason: "this sandbox has no way out" }]);
  });

  test("refusals are counted all, and logged up to a bound", async () => {
    await open({ policy: "none" });
    for (let i = 0; i < 70; i++) await get("http://example.com/");
    expect(egress.counters.refused).toBe(70);
    // 30 a minute, and a minute may end meanwhile.
    expect(log.length).toBeGreaterThanOrEqual(30);
    expect(log.length).toBeLessThanOrEqual(60);
  });

  test("policy hosts admits names, wildcards and ports, and nothing that only looks like them", async () => {
    const resolve = async () => ["127.0.0.1"];
    await open({ policy: "hosts", hosts: ["example.com", "*.example.org", `port.example:${webPort}`] }, { resolve, allow: ["127.0.0.1"] });
    const admitted = async (host: string, port = 80) => !(await get(`http://${host}:${port}/`)).body.includes("not among");
    expect(
      await Promise.all(["example.com", "EXAMPLE.com", "a.example.org", "a.b.example.org"].map((host) => admitted(host))),
    ).not.toContain(false);
    expect(
      await Promise.all(
        ["example.org", "xexample.com", "example.com.evil.net", "notexample.org", "127.0.0.1"].map((host) => admitted(host)),
      ),
    ).not.toContain(true);
    expect(await get(`http://port.example:${webPort}/`)).toMatchObject({ status: 200 });
    expect(await get(`http://example.com:${webPort}/`)).toMatchObject({ status: 403 });
  });

  test("a port that the operator opens is open for that allowance's addresses, and for no other", async () => {
    const addresses: Record<string, string> = { "public.example": "8.8.8.8", "inside.example": "127.0.0.2", "web.example": "127.0.0.1" };
    const resolve = async (host: string) => [addresses[host] ?? "127.0.0.3"];
    // 127.0.0.2 may be reached, but on the ports that are open to everybody.
    await open(PUBLIC, { resolve, allow: [`127.0.0.1:${webPort}`, "127.0.0.2", `named.example:${webPort}`], dialTimeoutMs: 1_000 });
    const reasonFor = async (host: string) => (await get(`http://${host}:${webPort}/`)).body;
    expect(await get(`http://127.0.0.1:${webPort}/`)).toMatchObject({ status: 200 });
    expect(await get(`http://web.example:${webPort}/`)).toMatchObject({ status: 200 });
    for (const host of ["8.8.8.8", "public.example", "inside.example", "127.0.0.2", "elsewhere.example"])
      expect(await reasonFor(host)).toBe(`berth: port ${webPort} is closed\n`);
    // By its name the operator has opened it: it is dialled, and nothing listens there.
    expect(await get(`http://named.example:${webPort}/`)).toMatchObject({ status: 502 });
  });

  test("requests for the model relay are handed over with the sandbox's name", async () => {
    await open({ policy: "none" }, { onModel: (asked, response, sandboxId) => void response.end(`${sandboxId} ${asked.url}`) });
    expect(await get("/model/v1/messages")).toMatchObject({ status: 200, body: `${id} /model/v1/messages` });
    expect(await get("/metrics")).toMatchObject({ status: 404 });
  });

  test("a target that accepts and says nothing is cut off", async () => {
    const silent = createTcpServer(() => {});
    const port = await listening(silent);
    await open(PUBLIC, { allow: [`127.0.0.1:${port}`], idleTimeoutMs: 200 });
    const answer = await get(`http://127.0.0.1:${port}/`).finally(() => silent.close());
    expect(answer).toMatchObject({ status: 502 });
  });

  test("one sandbox holds a bounded number of connections", async () => {
    await open(PUBLIC, { maxConnections: 4 });
    const sockets = Array.from({ length: 8 }, () => connect(socketPath()).on("error", () => {}));
    await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBe(4);
    for (const socket of sockets) socket.destroy();
  });

  const isAway = () => !statSync(socketPath(), { throwIfNoEntry: false });

  test("a sandbox that floods its socket is shut out, and is served again after a rest", async () => {
    const flood = () => Array.from({ length: 200 }, () => connect(socketPath()).on("error", () => {}));
    await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 600_000 });
    let sockets = flood();
    await expect.poll(isAway).toBe(true);
    for (const socket of sockets) socket.destroy();
    await egress[Symbol.asyncDispose]();
    await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 200 });
    sockets = flood();
    await expect.poll(() => sockets.some(({ closed }) => closed)).toBe(true);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => get(`http://127.0.0.1:${webPort}/`).catch(() => undefined)).toMatchObject({ status: 200 });
  });

  const pipelined = async (requests: string[]) => {
    const socket = connect(socketPath()).on("error", () => {});
    socket.write(requests.join(""));
    let seen = "";
    socket.on("data", (chunk) => (seen += chunk.toString()));
    await once(socket, "close");
    return seen.match(/^HTTP\/1\.1 \d+/gm)?.map((line) => Number(line.slice(9))) ?? [];
  };
  const askFor = (url: string, headers = "host: x\r\n") => `GET ${url} HTTP/1.1\r\n${headers}\r\n`;

  // The last two Node would answer by itself.
  test.each(["host: x\r\n", "host: x\r\nexpect: something\r\n", ""])(
    "requests on one connection count like connections, whatever their headers (%j)",
    async (headers) => {
      await open(PUBLIC, { maxPerSecond: 20, floodRestMs: 600_000, onModel: (_request, response) => void response.end() });
      const tunnelled = await tunnel(`127.0.0.1:${webPort}`);
      const answers = await pipelined(Array.from({ length: 1000 }, () => askFor("/model/x", headers)));
      expect(answers.length).toBeLessThanOrEqual(20);
      expect(isAway()).toBe(true);
      // A tunnel is no part of the flood.
      tunnelled.socket.end("GET /x HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
      expect(await text(tunnelled.socket)).toContain("x-seen-host: me");
    },
  );

  test("a flood cuts the sandbox's other connections, where as much may wait to be read", async () => {
    await open(PUBLIC, { maxPerSecond: 20, onModel: () => {} });
    const other = connect(socketPath()).on("error", () => {});
    other.write(askFor("/model/x"));
    const closed = once(other, "close");
    await pipelined(Array.from({ length: 100 }, () => askFor("/model/x")));
    await closed;
  });

  test("a refusal is the last answer on its connection", async () => {
    await open(PUBLIC);
    let served = 0;
    web.on("request", () => void served++);
    const good = askFor(`http://127.0.0.1:${webPort}/`);
    expect(await pipelined([good, askFor("http://8.8.8.8:25/"), good, good])).toEqual([200, 403]);
    expect(await pipelined([askFor("/elsewhere"), good])).toEqual([404]);
    expect(served).toBe(1);
  });

  // apt does it.
  test("requests may be sent before the answers to those before them", async () => {
    await open(PUBLIC);
    const url = `http://127.0.0.1:${webPort}/`;
    expect(await pipelined([askFor(url), askFor(url), askFor(url), askFor(url, "connection: close\r\n")])).toEqual([200, 200, 200, 200]);
  });

  test("headers that do not come are not waited for", async () => {
    await open(PUBLIC, { headersTimeoutMs: 200 });
    const slow = connect(socketPath());
    slow.write("GET http://a/ HTTP/1.1\r\nX: ");
    await expect.poll(() => slow.closed || slow.readableEnded || slow.destroyed).toBe(true);
  });

  test("no sandbox takes all connections to the outside", async () => {
    await open(PUBLIC, { maxOutside: 8 });
    const neighbour = newId("sbx", 2);
    await egress.open(neighbour, { egress: PUBLIC });
    const held: Socket[] = [];
    const takeUntilRefused = async (sandboxId: SandboxId) => {
      for (let taken = 0; ; taken++) {
        const { status, socket } = await tunnel(`127.0.0.1:${webPort}`, sandboxId);
        held.push(socket);
        if (status !== 200) return { taken, status };
      }
    };
    expect(await takeUntilRefused(id)).toEqual({ taken: 4, status: 503 });
    expect(await takeUntilRefused(neighbour)).toEqual({ taken: 2, status: 503 });
    for (const socket of held) socket.destroy();
  });

  test("pipelined requests take no more of the outside than other ones", async () => {
    await open(PUBLIC, { maxOutside: 8 });
    web.removeAllListeners("request");
    let reached = 0;
    const full = Promise.withResolvers<void>();
    web.on("request", () => void (++reached === 4 && full.resolve()));
    const socket = connect(socketPath()).on("error", () => {});
    socket.write(askFor(`http://127.0.0.1:${webPort}/`).repeat(20));
    await full.promise;
    expect(await statusOfTunnel(`127.0.0.1:${webPort}`)).toBe(503);
    expect(reached).toBe(4);
    socket.destroy();
  });

  test("a caller that leaves while its target is dialled gives its place back at once", async () => {
    const dialling = Promise.withResolvers<void>();
    const resolve = () => {
      dialling.resolve();
      return new Promise<string[]>(() => {});
    };
    await open(PUBLIC, { maxOutside: 1, resolve, dialTimeoutMs: 600_000 });
    const leaving = connect(socketPath());
    leaving.write(askFor("http://slow.example/"));
    await dialling.promise;
    expect(await statusOfTunnel(`127.0.0.1:${webPort}`)).toBe(503);
    leaving.destroy();
    await expect.poll(() => statusOfTunnel(`127.0.0.1:${webPort}`)).toBe(200);
  });

  test("all sandboxes together hold a bounded number of connections to the outside", async () => {
    await open(PUBLIC, { maxOutside: 1 });
    const first = await tunnel(`127.0.0.1:${webPort}`);
    expect(await statusOfTunnel(`127.0.0.1:${webPort}`)).toBe(503);
    first.socket.destroy();
    await expect.poll(() => statusOfTunnel(`127.0.0.1:${webPort}`)).toBe(200);
  });

  test("names that never answer hold up nobody else", async () => {
    await open(PUBLIC, { resolve: () => new Promise(() => {}), dialTimeoutMs: 3000 });
    const stuck = Array.from({ length: 50 }, (_, index) => statusOfTunnel(`slow${index}.example:443`));
    expect(await get(`http://127.0.0.1:${webPort}/`)).toMatchObject({ status: 200 });
    expect(new Set(await Promise.all(stuck))).toEqual(new Set([403]));
  });

  test("one sandbox has a bounded number of names resolved at a time, even when it does not wait for them", async () => {
    const unanswered: (() => void)[] = [];
    const resolve = (host: string) =>
      host === "known.example" ? Promise.resolve(["127.0.0.1"]) : new Promise<string[]>((done) => unanswered.push(() => done([])));
    await open(PUBLIC, { resolve, dialTimeoutMs: 600_000 });
    const neighbour = newId("sbx", 2);
    await egress.open(neighbour, { egress: PUBLIC });
    for (let asked = 1; asked <= 64; asked++) {
      const leaving = connect(socketPath());
      leaving.write(askFor(`http://slow${asked}.example/`));
      await expect.poll(() => unanswered.length).toBe(asked);
      leaving.destroy();
    }
    expect(await statusOfTunnel("one-more.example:443")).toBe(503);
    const { status, socket } = await tunnel(`known.example:${webPort}`, neighbour);
    socket.destroy();
    expect(status).toBe(200);
    for (const answer of unanswered) answer();
    await expect.poll(() => statusOfTunnel(`known.example:${webPort}`)).toBe(200);
  });

  test("closing cuts tunnels and removes the socket; opening twice is the same as once", async () => {
    await open(PUBLIC);
    await egress.open(id, { egress: PUBLIC });
    const { socket } = await tunnel(`127.0.0.1:${webPort}`);
    await egress.close(id);
    await expect.poll(() => socket.closed).toBe(true);
    expect(statSync(join(dataDir, "egress", id), { throwIfNoEntry: false })).toBeUndefined();
    await egress.close(id);
  });

  test("a new server takes the socket of a dead one over, also below a very long path", async () => {
    dataDir = join(dataDir, "a".repeat(120));
    await open(PUBLIC);
    const dead = egress;
    await open(PUBLIC);
    const inode = statSync(socketPath()).ino;
    expect(inode).toBeGreaterThan(0);
    await dead[Symbol.asyncDispose]();
    dataDir = join(dataDir, "..");
  });
});

async function listening(server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown }): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
