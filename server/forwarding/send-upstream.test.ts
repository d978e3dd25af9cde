import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { endToEndHeaders } from "@berth/contract/forwarding/forwarding.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createConnectionBoundary } from "../faults/connection-boundary.ts";
import { silentLog } from "../log.ts";
import { sendUpstream } from "./send-upstream.ts";

let received: { method: string | undefined; headers: IncomingHttpHeaders; body: string }[];
let upstream: Server;
let forwarder: Server;
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeEach(async () => {
  received = [];
  upstream = createServer((request, response) => void answer(request, response));
  forwarder = createServer((request, response) => void forward(request, response));
  for (const server of [upstream, forwarder]) await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(async () => {
  for (const server of [upstream, forwarder]) {
    server.close();
    await once(server, "close");
  }
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  received.push({ method: request.method, headers: request.headers, body: await text(request) });
  response.end("answered");
}

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const boundary = createConnectionBoundary({ log: silentLog, connection: "test" });
  const socket = connect(portOf(upstream), "127.0.0.1");
  const headers = { ...endToEndHeaders(request.headers), host: "upstream" };
  const incoming = await sendUpstream({ request, socket, path: request.url!, headers, boundary });
  incoming.pipe(response.writeHead(incoming.statusCode!, endToEndHeaders(incoming.headers)));
}

async function send(request: string): Promise<string> {
  const socket = connect(portOf(forwarder), "127.0.0.1");
  socket.write(request);
  return text(socket);
}

const SECOND_REQUEST = "POST /admin HTTP/1.1\r\nhost: upstream\r\n\r\n";
const CHUNK = `${SECOND_REQUEST.length.toString(16)}\r\n${SECOND_REQUEST}\r\n0\r\n\r\n`;
const LENGTH = `content-length: ${SECOND_REQUEST.length}`;
const FRAMINGS: Record<string, string> = {
  "in chunks": `transfer-encoding: chunked\r\nconnection: close\r\n\r\n${CHUNK}`,
  "in chunks that Connection names": `transfer-encoding: chunked\r\nconnection: close, transfer-encoding\r\n\r\n${CHUNK}`,
  "of a known length": `${LENGTH}\r\nconnection: close\r\n\r\n${SECOND_REQUEST}`,
  "of a length that Connection names": `${LENGTH}\r\nconnection: close, content-length\r\n\r\n${SECOND_REQUEST}`,
};
const METHODS = ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PATCH"];

test.each(Object.entries(FRAMINGS))("a body %s reaches the upstream as the body of one request, with every method", async (_name, rest) => {
  for (const method of METHODS) expect(await send(`${method} / HTTP/1.1\r\nhost: x\r\n${rest}`)).toMatch(/^HTTP\/1\.1 200 /);
  expect(received.map(({ method, body }) => [method, body])).toEqual(METHODS.map((method) => [method, SECOND_REQUEST]));
});

test("a request without a body has none at the upstream, and headers of the connection stay behind", async () => {
  for (const method of METHODS)
    await send(`${method} / HTTP/1.1\r\nhost: x\r\nconnection: close, x-named\r\nx-named: 1\r\nkeep-alive: 5\r\nx-kept: 1\r\n\r\n`);
  expect(received.map(({ body }) => body)).toEqual(METHODS.map(() => ""));
  for (const { headers } of received) {
    expect(headers).toMatchObject({ host: "upstream", "x-kept": "1", connection: "close" });
    for (const name of ["x-named", "keep-alive", "transfer-encoding"]) expect(headers).not.toHaveProperty(name);
  }
});
