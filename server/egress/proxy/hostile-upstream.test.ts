import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, type Log } from "../../log.ts";
import type { Egress } from "../egress.ts";
import { createLocalEgress } from "../local-egress.ts";

// A sandbox's user may run the upstream. Whatever it answers, the proxy survives: the request gets 502 or its connection closes,
// and requests of other sandboxes are served. An exception that reaches the process fails this whole file.

const [attacker, neighbour] = [newId("sbx", 1), newId("sbx", 2)];
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

// Everything that the proxy sends until it closes the connection, which it must do.
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
const BAD_GATEWAY = /^HTTP\/1\.1 502 /;
// Either 502 or a truncated answer, never one that looks complete.
const CUT = /^(?:HTTP\/1\.1 502 |$)/;

const ANSWERS: Record<string, [answer: (socket: Socket) => void, expected: RegExp]> = {
  "status 000": [says("HTTP/1.1 000 x\r\n\r\n"), BAD_GATEWAY],
  "status 099": [says("HTTP/1.1 099 x\r\n\r\n"), BAD_GATEWAY],
  "status 600": [says("HTTP/1.1 600 x\r\n\r\n"), BAD_GATEWAY],
  "status 999": [says("HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n"), BAD_GATEWAY],
  "status 1000": [says("HTTP/1.1 1000 x\r\n\r\n"), BAD_GATEWAY],
  "a negative status": [says("HTTP/1.1 -20 x\r\n\r\n"), BAD_GATEWAY],
  "status 000 after an interim answer": [says("HTTP/1.1 102 P\r\n\r\nHTTP/1.1 000 x\r\n\r\n"), BAD_GATEWAY],
  "an interim answer and no other": [says("HTTP/1.1 199 x\r\n\r\n"), BAD_GATEWAY],
  "an unrequested upgrade": [
    (socket) => void socket.write("HTTP/1.1 101 S\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nbytes"),
    BAD_GATEWAY,
  ],
  "101 without an upgrade": [says("HTTP/1.1 101 S\r\n\r\n"), BAD_GATEWAY],
  "interim answers without end": [floodWith("HTTP/1.1 100 Continue\r\n\r\n"), BAD_GATEWAY],
  "early hints without end": [floodWith("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n"), BAD_GATEWAY],
  "a reason phrase of 200 kB": [says(`HTTP/1.1 200 ${"r".repeat(200_000)}\r\ncontent-length: 0\r\n\r\n`), BAD_GATEWAY],
  "control characters in the reason phrase": [says("HTTP/1.1 200 a\x01\x02\xff\r\ncontent-length: 0\r\n\r\n"), /^HTTP\/1\.1 200 OK\r\n/],
  "a header name with a space": [says(`${ok}bad name: x\r\n\r\n`), BAD_GATEWAY],
  "a header name with control characters": [says(`${ok}b\x7fd: x\r\n\r\n`), BAD_GATEWAY],
  "a header value with a control character": [says(`${ok}x: a\x01b\r\n\r\n`), BAD_GATEWAY],
  "a header value with a NUL": [says(`${ok}x: a\x00b\r\n\r\n`), BAD_GATEWAY],
  "a header in two lines": [says(`${ok}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`), BAD_GATEWAY],
  "names of object properties as headers": [
    says(`${ok}__proto__: a\r\nconstructor: x\r\nhasOwnProperty: y\r\ncontent-length: 0\r\n\r\n`),
    /^HTTP\/1\.1 200 /,
  ],
  "two lengths": [says(`${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`), BAD_GATEWAY],
  "a negative length": [says(`${ok}content-length: -5\r\n\r\nhello`), BAD_GATEWAY],
  "a length and chunks": [says(`${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`), BAD_GATEWAY],
  "more than its length": [says(`${ok}content-length: 2\r\n\r\nhello HTTP/1.1 000 x`), CUT],
  "a second answer, with status 000": [says(`${GOOD}HTTP/1.1 000 x\r\n\r\n`), /^(?:$|HTTP\/1\.1 200 [^]*alive$)/],
  "chunks that are none": [says(`${ok}transfer-encoding: chunked\r\n\r\nZZ\r\nhello`), CUT],
  "a chunk of 2^72 bytes": [says(`${ok}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello`), CUT],
  "trailers with illegal characters": [says(`${ok}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx y: \x01\r\n\r\n`), CUT],
  "a body behind 204": [says("HTTP/1.1 204 N\r\ncontent-length: 4\r\n\r\nbody"), CUT],
  "chunks behind 304": [says("HTTP/1.1 304 N\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"), CUT],
  "100,000 headers": [says(`${ok}${"a: b\r\n".repeat(100_000)}\r\n`), BAD_GATEWAY],
  "a header of 100 kB": [says(`${ok}a: ${"x".repeat(100_000)}\r\n\r\n`), BAD_GATEWAY],
  "no HTTP at all": [says("\x00\x01\x02 nothing\r\n\r\n"), BAD_GATEWAY],
  nothing: [(socket) => void socket.end(), BAD_GATEWAY],
  "a reset": [(socket) => void socket.resetAndDestroy(), BAD_GATEWAY],
  "a reset in the middle": [
    (socket) => void socket.write(`${ok}content-length: 50\r\n\r\nhalf`, () => socket.resetAndDestroy()),
    /^(?:HTTP\/1\.1 (?:502|200) |$)/,
  ],
};

test.each(Object.entries(ANSWERS))("the proxy survives an upstream that answers with %s", async (_name, [answer, expected]) => {
  misbehave = answer;
  expect(await ask(attacker, "GET", "/")).toMatch(expected);
  // With and without a body, for the same code paths in other states.
  await Promise.all([ask(attacker, "POST", "/"), ask(attacker, "HEAD", "/"), ask(attacker, "OPTIONS", "/")]);
  expect(await ask(neighbour, "GET", "/good")).toMatch(/alive$/);
  // The proxy expects all of these answers: none is left for the boundary to catch.
  expect(errors).toEqual([]);
});

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

function floodWith(text: string): (socket: Socket) => void {
  return (socket) => {
    const timer = setInterval(() => socket.write(text.repeat(100)), 5);
    socket.once("close", () => clearInterval(timer));
  };
}
