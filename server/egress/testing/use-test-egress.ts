import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { newId, type EgressPolicy, type SandboxId } from "@berth/contract";
import { afterEach, beforeEach } from "vitest";
import { silentLog, type Log } from "../../log.ts";
import type { Egress } from "../egress.ts";
import { createLocalEgress, type LocalEgressOptions } from "../local-egress.ts";

export const PUBLIC: EgressPolicy = { policy: "public" };

export interface Answer {
  status: number | undefined;
  headers: Record<string, unknown>;
  body: string;
}

// Sets up a web server and an egress for each test of a file. The web server echoes bodies and headers; the operator's
// settings allow it, although its address is private.
export function useTestEgress() {
  const id: SandboxId = newId("sbx", 1);
  const warnings: { host?: string; reason?: string }[] = [];
  const log: Log = { ...silentLog, warn: (_event, fields) => void warnings.push(fields ?? {}) };
  const current = {} as { dataDir: string; web: Server; webPort: number; egress: Egress };

  beforeEach(async () => {
    current.dataDir = mkdtempSync(join(tmpdir(), "berth-egress-"));
    warnings.length = 0;
    current.web = createServer((incoming, response) => {
      if (incoming.url === "/redirect") return void response.writeHead(302, { location: "http://169.254.169.254/latest" }).end();
      const { host, "proxy-authorization": authorization } = incoming.headers;
      response.writeHead(200, { "x-seen-host": host, "x-seen-proxy": String(authorization) });
      incoming.pipe(response);
    });
    current.webPort = await listen(current.web);
  });
  afterEach(async () => {
    await current.egress[Symbol.asyncDispose]();
    current.web.closeAllConnections();
    current.web.close();
    rmSync(current.dataDir, { recursive: true });
  });

  const socketPath = (sandboxId = id) => join(current.dataDir, "egress", sandboxId, "proxy.sock");

  async function open(policy: EgressPolicy, options: Partial<LocalEgressOptions> = {}): Promise<void> {
    current.egress = createLocalEgress({ dataDir: current.dataDir, log, allow: [`127.0.0.1:${current.webPort}`], ...options });
    await current.egress.open(id, { egress: policy });
  }

  function get(url: string, options: { method?: string; body?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { method = "GET", headers = {}, body } = options;
    const outgoing = request({ socketPath: socketPath(), path: url, method, headers, agent: false }, (response) => {
      text(response).then((received) => resolve({ status: response.statusCode, headers: response.headers, body: received }), reject);
    });
    outgoing.on("error", reject).end(body);
    return promise;
  }

  function tunnel(authority: string, sandboxId = id): Promise<{ status: number | undefined; socket: Socket }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; socket: Socket }>();
    const outgoing = request({ socketPath: socketPath(sandboxId), method: "CONNECT", path: authority, agent: false });
    outgoing.on("connect", (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ status: response.statusCode, socket });
    });
    outgoing.on("error", reject).end();
    return promise;
  }

  async function statusOfTunnel(authority: string): Promise<number | undefined> {
    const { status, socket } = await tunnel(authority);
    socket.destroy();
    return status;
  }

  // Sends all requests at once on one connection, and returns the statuses of the answers.
  async function pipelined(requests: string[]): Promise<number[]> {
    const socket = connect(socketPath()).on("error", () => {});
    socket.write(requests.join(""));
    let received = "";
    socket.on("data", (chunk) => (received += chunk.toString()));
    await once(socket, "close");
    return received.match(/^HTTP\/1\.1 \d+/gm)?.map((line) => Number(line.slice(9))) ?? [];
  }

  return { id, warnings, current, open, get, tunnel, statusOfTunnel, pipelined, socketPath };
}

export const requestBytes = (url: string, headers = "host: x\r\n") => `GET ${url} HTTP/1.1\r\n${headers}\r\n`;

export async function listen(server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
