// A server with the faults that the harness must detect.
import { openSync } from "node:fs";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const kept: unknown[] = [];
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/crash") setImmediate(() => fail());
  else if (pathname === "/five") response.writeHead(500).end();
  else if (pathname === "/leak") response.end(String(kept.push(openSync("/dev/null", "r"))));
  else if (pathname === "/sample") response.end(sample());
  else if (pathname !== "/hang") response.end("ok");
});

function fail(): never {
  throw new Error("a fault of the faulty server");
}

function sample(): string {
  const { rss, heapUsed } = process.memoryUsage();
  const openFiles = readdirSync("/proc/self/fd").length;
  return JSON.stringify({ rssBytes: rss, heapBytes: heapUsed, openFiles, resources: {}, longestStallMs: 0 });
}

server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
