import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { ProxyFactoryOptions } from "./proxy/proxy-factory.ts";
import { PUBLIC, useTestEgress } from "./testing/use-test-egress.ts";

const { id, warnings, current, open, get, tunnel, statusOfTunnel, socketPath } = useTestEgress();

test("a plain request is forwarded with its body and with the Host header of the checked host", async () => {
  await open(PUBLIC);
  const headers = { host: "elsewhere.example", "proxy-authorization": "Basic c2VjcmV0" };
  const answer = await get(`http://127.0.0.1:${current.webPort}/echo`, { method: "POST", body: "hello", headers });
  expect(answer).toMatchObject({ status: 200, body: "hello" });
  expect(answer.headers).toMatchObject({ "x-seen-host": `127.0.0.1:${current.webPort}`, "x-seen-proxy": "undefined" });
  expect(current.egress.counters).toEqual({ allowed: 1, refused: 0 });
});

test("CONNECT opens a tunnel", async () => {
  await open(PUBLIC);
  const { status, socket } = await tunnel(`127.0.0.1:${current.webPort}`);
  expect(status).toBe(200);
  socket.end("GET /x HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
  expect(await text(socket)).toContain("x-seen-host: me");
});

test("a name is resolved once, and the checked address is dialled", async () => {
  let queries = 0;
  // A name server that returns another answer to a second query.
  const resolve = async () => (queries++ === 0 ? ["203.0.113.9", "127.0.0.1"] : ["127.0.0.1"]);
  await open(PUBLIC, { resolve, allow: [] });
  expect(await statusOfTunnel("rebinding.example:443")).toBe(403);
  expect(queries).toBe(1);
});

test("only the permitted addresses of a name are dialled", async () => {
  await open(PUBLIC, { resolve: async () => ["10.0.0.1", "169.254.169.254", "127.0.0.1"] });
  expect(await get(`http://mixed.example:${current.webPort}/`)).toMatchObject({ status: 200 });
});

test("denied hosts are refused by name and by every address that a name leads to", async () => {
  const resolve = async (name: string) => (name === "both.example" ? ["127.0.0.9", "127.0.0.1"] : ["127.0.0.9"]);
  await open({ policy: "public", deny: ["127.0.0.8/31", "*.ads.example", "named.example"] }, { resolve });
  const status = async (host: string) => (await get(`http://${host}:${current.webPort}/`)).status;
  expect(await status("127.0.0.9")).toBe(403);
  expect(await status("[::ffff:127.0.0.9]")).toBe(403);
  expect(await status("one.example")).toBe(403);
  expect(await status("both.example")).toBe(200);
  expect(await status("127.0.0.1")).toBe(200);
  expect(await status("NAMED.example")).toBe(403);
  expect(await status("x.ads.example")).toBe(403);
  expect(await statusOfTunnel(`127.0.0.9:${current.webPort}`)).toBe(403);
});

test.each([
  "http://127.0.0.1/",
  "http://localhost/",
  "http://app.localhost/",
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
  expect(warnings).toHaveLength(1);
});

test.each([
  "127.0.0.1:80",
  "localhost:443",
  "app.localhost:443",
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

test("a redirect is returned unchanged, and following it is another request", async () => {
  await open(PUBLIC);
  const answer = await get(`http://127.0.0.1:${current.webPort}/redirect`);
  expect(answer.status).toBe(302);
  expect(await get(String(answer.headers.location))).toMatchObject({ status: 403 });
});

test("the policy none refuses every target, even one that the operator allows", async () => {
  await open({ policy: "none" });
  expect(await get(`http://127.0.0.1:${current.webPort}/`)).toMatchObject({
    status: 403,
    body: "berth: this sandbox has no network access\n",
  });
  expect(warnings).toMatchObject([{ host: "127.0.0.1", reason: "this sandbox has no network access" }]);
});

test("all refusals are counted, and a bounded number is logged", async () => {
  await open({ policy: "none" });
  for (let i = 0; i < 70; i++) await get("http://example.com/");
  expect(current.egress.counters.refused).toBe(70);
  // 30 per minute, and a minute may end during the test.
  expect(warnings.length).toBeGreaterThanOrEqual(30);
  expect(warnings.length).toBeLessThanOrEqual(60);
});

test("the policy hosts permits exactly its names, wildcards and ports", async () => {
  const resolve = async () => ["127.0.0.1"];
  await open(
    { policy: "hosts", hosts: ["example.com", "*.example.org", `port.example:${current.webPort}`] },
    { resolve, allow: ["127.0.0.1"] },
  );
  const isPermitted = async (host: string, port = 80) => !(await get(`http://${host}:${port}/`)).body.includes("not an allowed host");
  expect(
    await Promise.all(["example.com", "EXAMPLE.com", "a.example.org", "a.b.example.org"].map((host) => isPermitted(host))),
  ).not.toContain(false);
  expect(
    await Promise.all(
      ["example.org", "xexample.com", "example.com.evil.net", "notexample.org", "127.0.0.1"].map((host) => isPermitted(host)),
    ),
  ).not.toContain(true);
  expect(await get(`http://port.example:${current.webPort}/`)).toMatchObject({ status: 200 });
  expect(await get(`http://example.com:${current.webPort}/`)).toMatchObject({ status: 403 });
});

test("a port that the operator opens is open only for the addresses of that exception", async () => {
  const addresses: Record<string, string> = { "public.example": "8.8.8.8", "inside.example": "127.0.0.2", "web.example": "127.0.0.1" };
  const resolve = async (host: string) => [addresses[host] ?? "127.0.0.3"];
  // 127.0.0.2 may be reached only on the ports that are open by default.
  await open(PUBLIC, {
    resolve,
    allow: [`127.0.0.1:${current.webPort}`, "127.0.0.2", `named.example:${current.webPort}`],
    dialTimeoutMs: 1_000,
  });
  const reasonFor = async (host: string) => (await get(`http://${host}:${current.webPort}/`)).body;
  expect(await get(`http://127.0.0.1:${current.webPort}/`)).toMatchObject({ status: 200 });
  expect(await get(`http://web.example:${current.webPort}/`)).toMatchObject({ status: 200 });
  for (const host of ["8.8.8.8", "public.example", "inside.example", "127.0.0.2", "elsewhere.example"])
    expect(await reasonFor(host)).toBe(
      `berth: port ${current.webPort} is not allowed, unless the operator names it in BERTH_EGRESS_ALLOW\n`,
    );
  // The operator allowed this name and port, so it is dialled, but nothing listens there.
  expect(await get(`http://named.example:${current.webPort}/`)).toMatchObject({ status: 502 });
});

test("no exception of the operator leads to the server's own port, under any address of this machine", async () => {
  const { webPort } = current;
  const resolve = async () => ["127.0.0.1"];
  await open(PUBLIC, {
    resolve,
    allow: ["127.0.0.0/8", `127.0.0.0/8:${webPort}`, `me.example:${webPort}`, `[::1]:${webPort}`],
    ownPorts: [webPort],
  });
  for (const host of ["127.0.0.1", "127.0.0.2", "me.example", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
    expect(await get(`http://${host}:${webPort}/`)).toMatchObject({ status: 403 });
  await open(PUBLIC, { resolve, allow: [`127.0.0.0/8:${webPort}`], ownPorts: [webPort + 1] });
  expect(await get(`http://127.0.0.1:${webPort}/`)).toMatchObject({ status: 200 });
});

test("requests to the server itself go to the relays with the sandbox's id", async () => {
  const onRelay: ProxyFactoryOptions["onRelay"] = (asked, response, caller) =>
    asked.url?.startsWith("/model/") === true && Boolean(response.end(`${caller.sandboxId} ${asked.url}`));
  await open({ policy: "none" }, { onRelay });
  expect(await get("/model/v1/messages")).toMatchObject({ status: 200, body: `${id} /model/v1/messages` });
  expect(await get("/metrics")).toMatchObject({ status: 404 });
});
