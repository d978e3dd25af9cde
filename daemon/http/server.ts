import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Authentication } from "./authentication.ts";
import { Fault, matchPath, notFound, parseTarget, readJson, type Route, sendFault, sendJson, toFault, type UpgradeRoute } from "./http.ts";

export interface ServerOptions {
  // Every request but the adoption itself must get past it.
  authentication: Authentication;
  routes: Route[];
  upgrades: UpgradeRoute[];
}

// Anybody may send one, so it is small.
const MAX_ADOPTION_BYTES = 4096;

export function createDaemonServer({ authentication, routes, upgrades }: ServerOptions): Server {
  // Uploads and streams last as long as they last; only the head of a request has a time limit.
  const server = createServer({ requestTimeout: 0, headersTimeout: 30_000, keepAliveTimeout: 75_000 });

  server.on("request", (request, response) => {
    // A peer that goes away in the middle is no event; the handlers see `close`.
    response.on("error", () => {});
    answer().catch((error: unknown) => sendFault(response, error));

    async function answer() {
      if (request.method === "POST" && request.url === "/internal/adopt") {
        authentication.adopt(await readJson(request, MAX_ADOPTION_BYTES));
        return sendJson(response, 200, { status: "ok" });
      }
      authentication.check(request);
      const { segments, query } = parseTarget(request.url ?? "/");
      const allowed: string[] = [];
      for (const route of routes) {
        const params = matchPath(route.path, segments);
        if (!params) continue;
        if (route.method === "*" || route.method === request.method) return await route.handle({ request, response, params, query });
        allowed.push(route.method);
      }
      if (allowed.length === 0) throw notFound("There is no such address in the sandbox");
      response.setHeader("Allow", allowed.join(", "));
      throw new Fault(405, "method_not_allowed", "This method is not possible here");
    }
  });

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    answer().catch((error: unknown) => refuseUpgrade(socket, error));

    async function answer() {
      authentication.check(request);
      const { segments, query } = parseTarget(request.url ?? "/");
      for (const route of upgrades) {
        const params = matchPath(route.path, segments);
        if (params) return await route.upgrade({ request, socket, head, params, query });
      }
      throw notFound("There is no such address in the sandbox");
    }
  });

  return server;
}

function refuseUpgrade(socket: Duplex, error: unknown): void {
  const { status, code, message } = toFault(error);
  const body = JSON.stringify({ error: message, code });
  const head = `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  socket.end(head + body);
}
