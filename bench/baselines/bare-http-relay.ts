import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { rm } from "node:fs/promises";
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import type { Run } from "../support/benchmark.ts";
import { startPart } from "./start-part.ts";

// A server that only forwards each request from node:http to undici, over a Unix socket: the least that a request to a sandbox costs
// a server in Node. The program behind it answers at once.
export interface BareHttpRelay {
  pid: number;
  port: number;
}

export async function startBareHttpRelay(run: Run): Promise<BareHttpRelay> {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  run.resources.defer(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "upstream.sock");
  await startPart(run, import.meta.filename, ["upstream", path]);
  const { pid, printed } = await startPart(run, import.meta.filename, ["relay", path]);
  return { pid, port: Number(printed) };
}

if (import.meta.main) {
  const [, , part, path = ""] = process.argv;
  if (part === "relay") serveRelay(path);
  else serveUpstream(path);
}

function serveRelay(socketPath: string): void {
  const pool = new Pool("http://upstream", { connect: { socketPath }, pipelining: 1 });
  const relay = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", url = "/", headers } = request;
    const passed = { "content-type": headers["content-type"], "content-length": headers["content-length"] };
    const answer = await pool.request({ method: method as "POST", path: url, headers: passed, body: request });
    response.writeHead(answer.statusCode, { "content-type": String(answer.headers["content-type"]) });
    answer.body.pipe(response);
  };
  createServer((request, response) => void relay(request, response)).listen(0, "127.0.0.1", function (this: { address(): unknown }) {
    console.log((this.address() as AddressInfo).port);
  });
}

// Answers like the daemon to a command without output.
function serveUpstream(path: string): void {
  createServer((request, response) => {
    request.resume().once("end", () => {
      response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" });
      response.write(`${JSON.stringify({ type: "exit", code: 0, signal: null })}\n`);
      response.end();
    });
  }).listen(path, () => console.log("listening"));
}
