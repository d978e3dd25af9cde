import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocketServer, type RawData, type WebSocket as ServerSocket } from "ws";
import { CLOSE, type Terminal } from "@berth/contract/daemon.ts";
import { createBackoff } from "../connection/backoff.ts";
import { openTerminalStream, type TerminalStreamOptions } from "./terminal-stream.ts";

let server: WebSocketServer;
let output: string;
let resets: number;

beforeEach(async () => {
  output = "";
  resets = 0;
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
});

afterEach(async () => {
  for (const client of server.clients) client.terminate();
  await new Promise((done) => server.close(done));
});

const terminal = { id: "t1", title: "sh", program: null, cols: 80, rows: 24, createdAtMs: 0, exit: null, offset: 0 } satisfies Terminal;

function openStream(options: Partial<TerminalStreamOptions> = {}) {
  const { port } = server.address() as AddressInfo;
  return openTerminalStream({
    url: (offset) => `ws://127.0.0.1:${port}/?offset=${offset ?? ""}`,
    backoff: createBackoff({ firstMs: 1, random: () => 0 }),
    sink: {
      write: (bytes, drawn) => {
        output += new TextDecoder().decode(bytes);
        drawn();
      },
      reset: () => {
        resets++;
        output = "";
      },
      resized: () => {},
      cleared: () => {},
    },
    ...options,
  });
}

async function accept(): Promise<{ socket: ServerSocket; url: string; messages: (string | Buffer)[] }> {
  const [socket, request] = (await once(server, "connection")) as [ServerSocket, { url: string }];
  const messages: (string | Buffer)[] = [];
  socket.on("message", (data: RawData, binary) => messages.push(binary ? (data as Buffer) : (data as Buffer).toString()));
  return { socket, url: request.url, messages };
}

const attach = (socket: ServerSocket, position: { offset: number; reset: boolean }) =>
  socket.send(JSON.stringify({ type: "attached", terminal, ...position }));

test("after a disconnect it requests the missing output and continues without a gap", async () => {
  const first = accept();
  using _stream = openStream();
  const { socket, url } = await first;
  expect(url).toBe("/?offset=");
  attach(socket, { offset: 100, reset: true });
  socket.send(Buffer.from("hello "));
  await expect.poll(() => output).toBe("hello ");
  const second = accept();
  socket.terminate();
  const again = await second;
  expect(again.url).toBe("/?offset=106");
  attach(again.socket, { offset: 106, reset: false });
  again.socket.send(Buffer.from("world"));
  await expect.poll(() => output).toBe("hello world");
  expect(resets).toBe(1);
});

test("input typed while disconnected is sent after the reconnect, after the size", async () => {
  const first = accept();
  using stream = openStream();
  stream.resize(120, 40);
  stream.input("ls\r");
  const { socket, messages } = await first;
  attach(socket, { offset: 0, reset: true });
  await expect.poll(() => messages.map(String)).toEqual(['{"type":"resize","cols":120,"rows":40,"unusedMs":null}', "ls\r"]);
});

test("input stays in order while the terminal is being attached", async () => {
  const first = accept();
  using stream = openStream();
  stream.input("e");
  const { socket, messages } = await first;
  // The socket is open before the daemon reports that the terminal is attached.
  socket.ping();
  await once(socket, "pong");
  stream.input("c");
  attach(socket, { offset: 0, reset: true });
  await expect.poll(() => messages.map(String).join("")).toBe("ec");
  stream.input("ho");
  await expect.poll(() => messages.map(String).join("")).toBe("echo");
});

test("it reports how much output was drawn", async () => {
  const first = accept();
  using _stream = openStream();
  const { socket, messages } = await first;
  attach(socket, { offset: 0, reset: true });
  for (let i = 0; i < 3; i++) socket.send(Buffer.alloc(100_000, "x"));
  await expect.poll(() => messages).toContain('{"type":"drawn","offset":200000}');
});

test("the screen has the size of the terminal, and the size that fits applies when a person uses this browser", async () => {
  const first = accept();
  const sizes: string[] = [];
  const sink = {
    write: () => {},
    reset: () => {},
    cleared: () => {},
    resized: (cols: number, rows: number) => void sizes.push(`${cols}x${rows}`),
  };
  using stream = openStream({ sink });
  stream.resize(60, 20);
  const { socket, messages } = await first;
  attach(socket, { offset: 0, reset: true });
  await expect.poll(() => messages.map(String)).toEqual(['{"type":"resize","cols":60,"rows":20,"unusedMs":null}']);
  expect(sizes).toEqual(["80x24"]);
  stream.use();
  await expect.poll(() => messages.map(String).slice(1)).toEqual(['{"type":"resize","cols":60,"rows":20,"unusedMs":0}']);
  socket.send(JSON.stringify({ type: "resized", cols: 60, rows: 20 }));
  await expect.poll(() => sizes).toEqual(["80x24", "60x20"]);
  // It applies already, so the next keys need no message each.
  stream.use();
  stream.input("x");
  await expect.poll(() => messages.map(String).slice(2)).toEqual(["x"]);
});

test("it does not reconnect to a closed terminal", async () => {
  const gone = Promise.withResolvers<void>();
  const first = accept();
  using _stream = openStream({ onGone: gone.resolve });
  (await first).socket.close(CLOSE.terminalGone);
  await gone.promise;
  expect(server.clients.size).toBeLessThanOrEqual(1);
});
