import { afterEach, beforeEach, expect, test } from "vitest";
import { createConnectionBoundary, type ConnectionBoundary, type CoverableStream } from "../../../faults/connection-boundary.ts";
import { silentLog, type Log } from "../../../log.ts";
import { toLookup } from "../../../network/host-resolver.ts";
import { type RawProvider, startRawProvider } from "../testing/raw-provider.ts";
import { openUpstream } from "./provider-connection.ts";

let provider: RawProvider;
beforeEach(async () => {
  provider = await startRawProvider();
  provider.behave = (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
});
afterEach(() => provider[Symbol.asyncDispose]());

function ask(boundary: ConnectionBoundary, host = "127.0.0.1") {
  const { port } = new URL(provider.url);
  const lookup = toLookup(async () => ["127.0.0.1"]);
  const { signal } = new AbortController();
  return openUpstream({
    url: `http://${host}:${port}/`,
    method: "GET",
    headers: {},
    body: [],
    timeoutMs: 5_000,
    signal,
    lookup,
    onBytes: () => {},
    boundary,
  });
}

// A boundary that gives the test access to the work that it contains.
function openBoundary() {
  const lines: object[] = [];
  const log: Log = { ...silentLog, error: (event, fields) => void lines.push({ event, ...fields }) };
  const inner = createConnectionBoundary({ log, connection: "model provider" });
  const covered: CoverableStream[] = [];
  const boundary: ConnectionBoundary = {
    ...inner,
    cover(...streams) {
      covered.push(...streams);
      inner.cover(...streams);
    },
  };
  return { boundary, covered, lines };
}

test("the provider's name is resolved by the given resolver", async () => {
  const upstream = ask(openBoundary().boundary, "provider.example");
  expect((await upstream.answer).statusCode).toBe(200);
  upstream.destroy();
});

test.each(["request", "response"])("a throw in a handler of the provider's %s ends the connection and nothing else", async (which) => {
  const { boundary, covered, lines } = openBoundary();
  const upstream = ask(boundary);
  const fail = () => {
    throw new Error("a bug in a listener");
  };
  if (which === "request") covered[0]!.on("response", fail);
  else void upstream.answer.then((answer) => answer.on("data", fail));
  await expect.poll(() => lines).toMatchObject([{ event: "connection.failed", connection: "model provider" }]);
  await expect.poll(() => provider.connections.size).toBe(0);
});
