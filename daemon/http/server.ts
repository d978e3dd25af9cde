import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "@berth/contract/errors.ts";
import type { Authentication } from "./authentication.ts";
import { coverConnection } from "./boundary.ts";
import { readJson } from "./body.ts";
import { notFound } from "./errors.ts";
import type { Pauses } from "./pauses.ts";
import { refuseUpgrade, sendError, sendJson } from "./reply.ts";
import { requireAllowed } from "./viewers.ts";
import { parseTarget, pathMatcher, type Route, type UpgradeRoute } from "./route.ts";

export interface AnswerOptions {
  // Checks every request except the adoption itself.
  authentication: Authentication;
  routes: Route[];
  upgrades: UpgradeRoute[];
  pauses: Pick<Pauses, "onGone">;
}

// The adoption is not authenticated yet, so its body is small.
const MAX_ADOPTION_BYTES = 4096;
const NO_SUCH_PATH = "There is no such path in the sandbox's API";

// The emitter of `request` and `upgrade`.
export type RequestSource = Pick<Server, "on">;

export function createDaemonServer(): Server {
  // Uploads and streams may last arbitrarily long; only the head of a request has a deadline. The server decides how long an
  // unused connection stays open.
  const server = createServer({ requestTimeout: 0, headersTimeout: 30_000, keepAliveTimeout: 24 * 3_600_000 });
  // Nor does it read the time: three headers less in every response, which both sides would have to write or to parse.
  server.on("request", (_request, response) => {
    response.sendDate = false;
    response.removeHeader("connection");
  });
  return server;
}

export function answerRequests(server: RequestSource, { authentication, routes, upgrades, pauses }: AnswerOptions): void {
  const matched = routes.map((route) => ({ route, match: pathMatcher(route.path) }));
  const matchedUpgrades = upgrades.map((route) => ({ route, match: pathMatcher(route.path) }));

  server.on("request", (request, response) => {
    // Handlers watch `close` to see that the caller has disconnected; the error itself needs no handling.
    response.on("error", () => {});
    const cover = coverConnection(request, response);
    const onGone = (listener: () => void) => pauses.onGone(response, listener);
    answer().catch((error: unknown) => sendError(response, error));

    async function answer() {
      if (request.method === "POST" && request.url === "/internal/adopt") {
        authentication.adopt(await readJson(request, MAX_ADOPTION_BYTES));
        return sendJson(response, 200, { status: "ok" });
      }
      authentication.check(request);
      const { segments, query } = parseTarget(request.url ?? "/");
      const allowed: string[] = [];
      for (const { route, match } of matched) {
        const params = match(segments);
        if (!params) continue;
        if (route.method !== "*" && route.method !== request.method) {
          allowed.push(route.method);
          continue;
        }
        requireAllowed(request, route.method, route.path);
        return await route.handle({ request, response, params, query, cover, onGone });
      }
      if (allowed.length === 0) throw notFound(NO_SUCH_PATH);
      response.setHeader("Allow", allowed.join(", "));
      throw new AppError("method_not_allowed");
    }
  });

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const cover = coverConnection(socket);
    answer().catch((error: unknown) => refuseUpgrade(socket, error));

    async function answer() {
      authentication.check(request);
      const { segments, query } = parseTarget(request.url ?? "/");
      for (const { route, match } of matchedUpgrades) {
        const params = match(segments);
        if (!params) continue;
        requireAllowed(request, "WS", route.path);
        return await route.upgrade({ request, socket, head, params, query, cover });
      }
      throw notFound(NO_SUCH_PATH);
    }
  });
}
