import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { EgressRule } from "@berth/contract";
import { expect, test } from "vitest";
import { useTestEgress } from "./testing/use-test-egress.ts";

// Rules that name methods and paths of plain HTTP.

const { id, current, open, get, statusOfTunnel, socketPath } = useTestEgress();
const NAME = "api.example";

const openRules = (rules: (rule: (limits: Omit<EgressRule, "host">) => EgressRule) => (EgressRule | string)[]) =>
  open(
    { policy: "hosts", hosts: rules((limits) => ({ host: `${NAME}:${current.webPort}`, ...limits })) },
    { resolve: async () => ["127.0.0.1"] },
  );
const urlOf = (path: string) => `http://${NAME}:${current.webPort}${path}`;
const status = async (path: string, options: Parameters<typeof get>[1] = {}) => (await get(urlOf(path), options)).status;

test("only the methods and paths of a rule are forwarded", async () => {
  await openRules((rule) => [
    rule({ methods: ["GET", "HEAD"], paths: ["/v1/*", "/health"] }),
    rule({ methods: ["POST"], paths: ["/v1/jobs"] }),
  ]);
  for (const path of ["/v1/", "/v1/a/b?x=/../..//", "/health", "/health?full=1"]) expect(await status(path)).toBe(200);
  expect(await status("/v1/jobs", { method: "POST", body: "{}" })).toBe(200);
  for (const path of ["/", "/v1", "/healthy", "/health/", "/V1/a", "/admin"]) expect(await status(path)).toBe(403);
  for (const method of ["POST", "DELETE", "PUT"]) expect(await status("/v1/a", { method })).toBe(403);
  expect((await get(urlOf("/admin"))).body).toBe(`berth: this method or path is not allowed for ${NAME}\n`);
});

test("a path that a server may read differently is refused, and dot segments are resolved before the check", async () => {
  await openRules((rule) => [rule({ paths: ["/v1/*"] })]);
  for (const path of [
    "/v1/%2e%2e%2fadmin",
    "/v1/..%2fadmin",
    "/v1/..;/admin",
    "/v1/%5c..%5cadmin",
    "/v1/%252e%252e/admin",
    "/v1/../admin",
    "/v1/%2e%2e/admin",
    "/v1\\..\\admin",
  ])
    expect([path, await status(path)]).toEqual([path, 403]);
  expect(await status("/admin/../v1/x")).toBe(200);
  for (const path of ["/v1/a%20b", "/v1//x", "/v1/group%2Fproject", "/v1/.well-known"]) expect(await status(path)).toBe(200);
});

test("headers that replace the method or the path are refused, and the Host header is that of the request line", async () => {
  await openRules((rule) => [rule({ methods: ["POST"], paths: ["/v1/*"] })]);
  for (const header of ["X-HTTP-Method-Override", "x-method-override", "X-Original-URL", "x-rewrite-url"])
    expect(await status("/v1/a", { method: "POST", headers: { [header]: "DELETE" } })).toBe(403);
  const answer = await get(urlOf("/v1/a"), { method: "POST", headers: { host: "internal.example" } });
  expect(answer.headers).toMatchObject({ "x-seen-host": `${NAME}:${current.webPort}` });
});

test.each([
  ["a user in the URL", (port: number) => `GET http://${NAME}:${port}@127.0.0.1:${port}/v1/a HTTP/1.1\r\nhost: x\r\n\r\n`],
  ["two Host headers", (port: number) => `GET http://other.example:${port}/v1/a HTTP/1.1\r\nhost: ${NAME}\r\nhost: ${NAME}\r\n\r\n`],
  ["another host in the Host header", (port: number) => `GET http://127.0.0.1:${port}/v1/a HTTP/1.1\r\nhost: ${NAME}:${port}\r\n\r\n`],
  ["a path without a host", () => `GET /v1/a HTTP/1.1\r\nhost: ${NAME}\r\n\r\n`],
])("%s does not lead to another host", async (_, bytes) => {
  await openRules((rule) => [rule({ paths: ["/v1/*"] })]);
  const socket = connect(socketPath());
  socket.end(bytes(current.webPort));
  expect(await text(socket)).toMatch(/^HTTP\/1.1 40[034]/);
});

test("a body cannot hide a second request", async () => {
  await openRules((rule) => [rule({ methods: ["POST"], paths: ["/v1/*"] })]);
  const socket = connect(socketPath());
  const second = `DELETE ${urlOf("/admin")} HTTP/1.1\r\nhost: x\r\n\r\n`;
  socket.end(`POST ${urlOf("/v1/a")} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${second}`);
  const answers = (await text(socket)).match(/^HTTP\/1.1 \d+/gm) ?? [];
  expect(answers.filter((line) => line.endsWith("200")).length).toBeLessThanOrEqual(1);
  expect(answers.at(-1)).not.toBe("HTTP/1.1 200");
});

test("a tunnel to a host with such a rule is refused, unless another rule allows the host as a whole", async () => {
  await openRules((rule) => [rule({ methods: ["GET"] })]);
  expect(await statusOfTunnel(`${NAME}:${current.webPort}`)).toBe(403);
  expect(current.egress.takeHosts().get(id)?.at(-1)?.rule).toContain("only by plain HTTP");
  await openRules((rule) => [rule({ methods: ["GET"] }), `*.example:${current.webPort}`]);
  expect(await statusOfTunnel(`${NAME}:${current.webPort}`)).toBe(200);
  expect(await status("/", { method: "DELETE" })).toBe(200);
});

test("a change of the rules closes the requests that it forbids, and no others", async () => {
  const limited = (paths: string[]) => ({ policy: "hosts" as const, hosts: [{ host: `${NAME}:${current.webPort}`, paths }] });
  await openRules((rule) => [rule({ paths: ["/a", "/b"] })]);
  // The answer ends when the request does.
  const begin = (path: string) => {
    const socket = connect(socketPath());
    socket.write(`POST ${urlOf(path)} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n`);
    return socket;
  };
  const [kept, closed] = [begin("/a"), begin("/b")];
  await Promise.all([kept, closed].map((socket) => new Promise((resolve) => socket.once("data", resolve))));
  const ended = new Promise((resolve) => closed.once("close", resolve));
  await current.egress.change(id, { egress: limited(["/a"]) }, { closeConnections: true });
  await ended;
  const rest = once(kept, "data");
  kept.write("0\r\n\r\n");
  expect(String((await rest)[0])).toContain("0\r\n\r\n");
  kept.destroy();
});
