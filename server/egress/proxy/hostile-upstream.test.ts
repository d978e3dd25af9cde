import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { describeForwarder } from "@berth/contract/forwarding/forwarding.suite.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, type Log } from "../../log.ts";
import type { Egress } from "../egress.ts";
import { createLocalEgress } from "../local-egress.ts";

const [attacker, neighbour] = [newId("sbx", 1), newId("sbx", 2)];

describeForwarder("the egress proxy", async ({ port: upstreamPort }) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-upstream-"));
  const faults: string[] = [];
  const proxy = createLocalEgress({
    dataDir: folder,
    log: { ...silentLog, error: (event) => void faults.push(event) },
    allow: [`127.0.0.1:${upstreamPort}`],
  });
  await proxy.open(attacker, { egress: { policy: "public" } });
  const target = `http://127.0.0.1:${upstreamPort}/ HTTP/1.1\r\nhost: x`;
  return {
    connect: () => connect(join(folder, "egress", attacker, "proxy.sock")),
    requests: { get: `GET ${target}`, post: `POST ${target}` },
    faults: () => faults,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
});

const errors: string[] = [];
const log: Log = { ...silentLog, error: (event) => void errors.push(event) };
let dataDir: string;
let egress: Egress;
let upstream: Server;
let port: number;
let misbehave: (socket: Socket) => void;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "berth-upstream-"));
  errors.length = 0;
  upstream = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk) => (chunk.includes("/good ") ? socket.end(GOOD) : misbehave(socket)));
  });
  await once(upstream.listen(0, "127.0.0.1"), "listening");
  port = (upstream.address() as AddressInfo).port;
  egress = createLocalEgress({ dataDir, log, allow: [`127.0.0.1:${port}`] });
  for (const sandboxId of [attacker, neighbour]) await egress.open(sandboxId, { egress: { policy: "public" } });
});
afterEach(async () => {
  await egress[Symbol.asyncDispose]();
  upstream.close();
  rmSync(dataDir, { recursive: true });
});

const GOOD = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nalive";

// Reads everything that the proxy sends. The proxy must then close the connection.
async function ask(sandboxId: string, method: string, path: string): Promise<string> {
  const body = method === "POST" ? "expect: 100-continue\r\ncontent-length: 4\r\n\r\nbody" : "\r\n";
  const socket = connect(join(dataDir, "egress", sandboxId, "proxy.sock")).on("error", () => {});
  let seen = "";
  socket.on("data", (chunk) => (seen += chunk.toString("latin1")));
  socket.write(`${method} http://127.0.0.1:${port}${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${body}`);
  await once(socket, "close");
  return seen.replace("HTTP/1.1 100 Continue\r\n\r\n", "");
}

const ok = "HTTP/1.1 200 OK\r\n";
const says = (text: string) => (socket: Socket) => void socket.end(Buffer.from(text, "latin1"));
test("a throw while an answer is handled closes that connection only and is logged once", async () => {
  misbehave = says(GOOD);
  const onRelay = () => {
    throw new Error("a bug in a listener");
  };
  await egress[Symbol.asyncDispose]();
  egress = createLocalEgress({ dataDir, log, allow: [`127.0.0.1:${port}`], onRelay });
  for (const sandboxId of [attacker, neighbour]) await egress.open(sandboxId, { egress: { policy: "public" } });
  const socket = connect(join(dataDir, "egress", attacker, "proxy.sock")).on("error", () => {});
  socket.resume().write("GET /model/v1/models HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(socket, "close");
  expect(errors).toEqual(["connection.failed"]);
  expect(await ask(neighbour, "GET", "/good")).toMatch(/alive$/);
});

test("callers that reset their connection at any moment affect no others", async () => {
  misbehave = (socket) => void socket.write(`${ok}content-length: 50\r\n\r\nhalf`);
  const requests = [
    `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`,
    "CONNECT 10.0.0.1:443 HTTP/1.1\r\nhost: x\r\n\r\n",
    `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n\r\n`,
    "GET http://10.0.0.1/ HTTP/1.1\r\nhost: x\r\n\r\n",
    "nonsense",
  ];
  for (const sent of requests) {
    for (let i = 0; i < 10; i++) {
      const socket = connect(join(dataDir, "egress", attacker, "proxy.sock")).on("error", () => {});
      await once(socket, "connect");
      socket.write(sent);
      if (i % 2 === 0) socket.destroy();
      else socket.once("data", () => socket.destroy()).once("end", () => socket.destroy());
      await once(socket, "close");
    }
  }
  expect(await ask(neighbour, "GET", "/good")).toMatch(/alive$/);
  expect(errors).toEqual([]);
});
