import { request, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Connect, Plugin } from "vite";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import type { WorkspaceSession } from "@berth/contract/workspace.ts";

// Lets `vite` serve the workspace against a bare daemon, without the server: BERTH_DEV_SOCKET is the daemon's Unix socket
// and BERTH_DEV_TOKEN its token. Only the development server knows this file; nothing of it is built.
export function devHarness(): Plugin {
  return {
    name: "berth-dev-harness",
    apply: "serve",
    configureServer(server) {
      server.middlewares.use(answer);
      server.httpServer?.on("upgrade", relayUpgrade);
    },
  };
}

const sandboxPath = /^\/workspace\/(sbx_[^/]+)\/(.*)$/;

const answer: Connect.NextHandleFunction = (incoming, response, next) => {
  const [, sandboxId, rest] = sandboxPath.exec(incoming.originalUrl ?? "") ?? [];
  if (sandboxId === undefined || rest === undefined) return next();
  if (rest === "" || rest.startsWith("?")) {
    incoming.url = "/index.html";
    return next();
  }
  if (rest === "session") return void response.setHeader("content-type", "application/json").end(JSON.stringify(session(sandboxId)));
  if (rest === "session/stream") {
    response.setHeader("content-type", "text/event-stream");
    return void response.write(`data: ${JSON.stringify(session(sandboxId))}\n\n`);
  }
  if (!rest.startsWith("api/")) return next();
  const outgoing = toDaemon(incoming, rest.slice("api".length));
  outgoing.on("response", (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
  });
  outgoing.on("error", (error) => response.writeHead(502).end(error.message));
  incoming.pipe(outgoing);
};

function relayUpgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const [, , rest] = sandboxPath.exec(incoming.url ?? "") ?? [];
  if (!rest?.startsWith("api/")) return;
  const outgoing = toDaemon(incoming, rest.slice("api".length));
  outgoing.on("upgrade", (answered, daemon, first) => {
    const headers = answered.rawHeaders.reduce((text, value, i) => text + value + (i % 2 ? "\r\n" : ": "), "");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`);
    socket.write(first);
    daemon.write(head);
    daemon.pipe(socket).pipe(daemon);
    socket.on("error", () => daemon.destroy());
    daemon.on("error", () => socket.destroy());
  });
  outgoing.on("response", () => socket.destroy());
  outgoing.on("error", () => socket.destroy());
  outgoing.end();
}

function toDaemon(incoming: IncomingMessage, path: string) {
  const headers = { ...incoming.headers, [TOKEN_HEADER]: process.env["BERTH_DEV_TOKEN"] ?? "" };
  return request({ socketPath: process.env["BERTH_DEV_SOCKET"] ?? "", path, method: incoming.method ?? "GET", headers });
}

function session(sandboxId: string): WorkspaceSession {
  const nowMs = Date.now();
  return {
    sessionId: "ses_development",
    sandboxId,
    status: "running",
    reason: null,
    generation: 1,
    partnerName: "Development",
    expiresAtMs: nowMs + 3_600_000,
    serverNowMs: nowMs,
    previewUrl: null,
  };
}
