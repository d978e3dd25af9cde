import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { sendMessage } from "./send.ts";
import { startRawReceiver } from "../../testing/receivers.ts";

// Each attempt ends with an outcome and a closed connection, even if the receiver misbehaves.

const INVALID = { ok: false, status: null, error: "The response is not valid HTTP" };
const TAKEN = { ok: true, status: 200 };
const CLOSED = { ok: false, status: null, error: "The connection failed: ECONNRESET" };

const writes = (text: string | Buffer) => (socket: Socket) => void socket.write(text);
const writesForEver = (start: string, more: string) => (socket: Socket) => {
  socket.write(start);
  const chunk = more.repeat(Math.ceil(16_384 / more.length));
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", write);
  write();
};
const trickles = (start: string) => (socket: Socket) => {
  socket.write(start);
  const timer = setInterval(() => socket.write("x"), 20);
  socket.on("close", () => clearInterval(timer));
};
const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));

const cases: { name: string; behave: (socket: Socket) => void; outcome: object }[] = [
  { name: "a status of 000", behave: writes("HTTP/1.1 000 x\r\ncontent-length: 0\r\n\r\n"), outcome: INVALID },
  { name: "a status of 999", behave: writes("HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n"), outcome: INVALID },
  { name: "a status of five digits", behave: writes("HTTP/1.1 99999 x\r\n\r\n"), outcome: INVALID },
  { name: "no HTTP at all", behave: writes("banana\r\n\r\n"), outcome: INVALID },
  { name: "bytes", behave: writes(Buffer.from([0, 255, 22, 3, 1, 0, 13, 10, 13, 10])), outcome: INVALID },
  { name: "endless headers", behave: writesForEver("HTTP/1.1 200 OK\r\n", "a: b\r\n"), outcome: INVALID },
  { name: "one endless header", behave: writesForEver("HTTP/1.1 200 OK\r\na: ", "b"), outcome: INVALID },
  { name: "an endless reason", behave: writesForEver("HTTP/1.1 200 ", "OK"), outcome: INVALID },
  { name: "endless informational responses", behave: writesForEver("", "HTTP/1.1 103 Early Hints\r\n\r\n"), outcome: INVALID },
  {
    name: "a change of protocol",
    behave: writes("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
    outcome: { ok: false, status: null, error: "The connection ended without a response" },
  },
  {
    name: "a change of protocol without its name",
    behave: writes("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    outcome: { ok: false, status: 101, error: "The receiver answered 101" },
  },
  { name: "a closed connection", behave: (socket) => socket.end(), outcome: CLOSED },
  { name: "a reset", behave: (socket) => socket.resetAndDestroy(), outcome: CLOSED },
  { name: "a response that is held open", behave: writes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), outcome: TAKEN },
  { name: "a response that never ends", behave: writes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"), outcome: TAKEN },
  { name: "an endless body", behave: writesForEver("HTTP/1.1 200 OK\r\n\r\n", "body"), outcome: TAKEN },
  { name: "a body that trickles", behave: trickles("HTTP/1.1 200 OK\r\n\r\n"), outcome: TAKEN },
  {
    name: "an endless chunk extension",
    behave: writesForEver("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;", "x"),
    outcome: TAKEN,
  },
  {
    name: "endless trailers",
    behave: writesForEver("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "a: b\r\n"),
    outcome: TAKEN,
  },
  { name: "a broken body", behave: writes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"), outcome: TAKEN },
  {
    name: "a reset in the middle of the body",
    behave: (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\no", () => socket.resetAndDestroy()),
    outcome: TAKEN,
  },
  {
    name: "a compression bomb",
    behave: (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    },
    outcome: TAKEN,
  },
  { name: "two answers", behave: writes("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".repeat(2)), outcome: TAKEN },
  {
    name: "a redirect",
    behave: writes("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
    outcome: { ok: false, status: 307, error: "The receiver answered 307" },
  },
];

describe("an attempt and its connection end when the receiver answers with", () => {
  test.each(cases)("$name", async ({ behave, outcome }) => {
    await using receiver = await startRawReceiver(behave);
    const patience = new AbortController();
    expect(await sendMessage({ url: receiver.url, headers: {}, body: "{}" }, { allowPrivate: true, signal: patience.signal })).toEqual(
      outcome,
    );
    await receiver.firstClosed;
    expect(receiver.count()).toBe(1);
  });
});

describe("an attempt ends at its deadline", () => {
  test.each([
    { name: "headers that trickle", behave: trickles("HTTP/1.1 200 OK\r\na: ") },
    { name: "silence", behave: () => {} },
  ])("with $name", async ({ behave }) => {
    const time = new AbortController();
    await using receiver = await startRawReceiver((socket) => {
      behave(socket);
      time.abort();
    });
    expect(await sendMessage({ url: receiver.url, headers: {}, body: "{}" }, { allowPrivate: true, signal: time.signal })).toEqual({
      ok: false,
      status: null,
      error: "No response within 15 seconds",
    });
    await receiver.firstClosed;
  });

  test("even before it starts", async () => {
    const outcome = await sendMessage(
      { url: "http://name.example/", headers: {}, body: "{}" },
      { allowPrivate: true, signal: AbortSignal.abort() },
    );
    expect(outcome).toMatchObject({ ok: false, error: "No response within 15 seconds" });
  });
});

test("names are resolved without the threads of the system's resolver", async () => {
  const time = new AbortController();
  const sending = sendMessage({ url: "http://receiver.example/", headers: {}, body: "{}" }, { allowPrivate: false, signal: time.signal });
  expect(process.getActiveResourcesInfo()).not.toContain("GetAddrInfoReqWrap");
  time.abort();
  expect(await sending).toMatchObject({ ok: false, status: null });
});
