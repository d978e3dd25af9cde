import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError, isSandboxId, type SandboxId } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import { accessOf } from "./access/browser-access.ts";
import { handshakeHeaders, relayToApi } from "./relay/api-relay.ts";
import type { AppFiles } from "./pages/app-files.ts";
import { pageOf } from "./pages/app-page.ts";
import { toDaemonPath } from "./relay/daemon-path.ts";
import { launch, type LaunchDeps } from "./access/launch.ts";
import { sendPage } from "./pages/status-pages.ts";
import { appPolicy, frameAncestors, isFromElsewhere, isFromOrigin, isMutation, wouldBeExecuted } from "./access/browser-policy.ts";
import { type PreviewLinks, readPreviewRequest } from "./preview/preview-link.ts";
import { sendJson, splitTarget } from "./requests/reply.ts";
import type { SessionStreams } from "./session-stream.ts";
import { acceptAndClose, farewellFor, isHandshake, type SocketRelay } from "./relay/socket-relay.ts";
import type { Standing } from "./access/session-cache.ts";

// `/workspace/…`: the launch URL, the browser app and, behind the cookie, what the app asks for.
export interface WorkspaceDeps extends LaunchDeps {
  files: AppFiles;
  streams: SessionStreams;
  previews: PreviewLinks;
  links: Pick<DaemonLinks, "request">;
  sockets: Pick<SocketRelay, "join">;
  baseUrl: string;
  previewDomain: string | null;
}

export interface Workspace {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export function createWorkspace(deps: WorkspaceDeps): Workspace {
  const { files, streams, previews, sockets, standings, cookies, baseUrl, previewDomain } = deps;
  const { origin } = new URL(baseUrl);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path } = splitTarget(request);
    const [, , first = "", ...rest] = path.split("/");
    if (first === "") return launch(deps, request, response);
    if (!isSandboxId(first)) {
      const found = !isMutation(request) && (await files.send(path.slice("/workspace/".length), request, response));
      return found ? undefined : sendPage(response, "notFound", "*");
    }
    if (rest.length === 0) return redirect(response, `/workspace/${first}/`);
    if (rest.length === 1 && rest[0] === "") return openPage(first, request, response);
    return answerApp(first, rest, request, response);
  }

  async function openPage(sandboxId: SandboxId, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isMutation(request)) return sendPage(response, "notAllowed", "*");
    const { standing, refused } = await accessOf(deps, request, sandboxId);
    if (refused) return sendPage(response, refused, standing ? frameAncestors(standing.partner) : "*");
    const ancestors = frameAncestors(standing.partner);
    if (standing.session.status === "destroyed") {
      response.setHeader("set-cookie", cookies.clear({ sandboxId, partnerId: standing.partner.id }));
      return sendPage(response, "destroyed", ancestors);
    }
    const page = files.page();
    if (page === null) return sendPage(response, standing.session.status === "paused" ? "paused" : "starting", ancestors);
    const { body, headers } = pageOf(page, streams.describe(standing));
    response.writeHead(200, {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      "content-security-policy": appPolicy(baseUrl, ancestors, previewDomain),
      "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  // Everything below is asked for by the app, so that even refusals are JSON.
  async function answerApp(sandboxId: SandboxId, rest: string[], request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { standing, refused } = await accessOf(deps, request, sandboxId);
    if (refused) throw new AppError("unauthorized");
    const trusted = isMutation(request) ? isFromOrigin(request, origin) : !isFromElsewhere(request);
    if (!trusted || wouldBeExecuted(request)) throw new AppError("forbidden");
    const [area, ...deeper] = rest;
    const name = rest.join("/");
    if (area === "api") return passOn(standing, `/${deeper.join("/")}`, request, response);
    const method = METHODS[name];
    if (method === undefined) throw new AppError("not_found");
    if (request.method !== method) return refuseMethod(response, method);
    if (name === "session") return sendJson(response, 200, streams.describe(standing));
    if (name === "session/stream")
      return streams.stream(sandboxId, response, async () => !(await accessOf(deps, request, sandboxId)).refused);
    const { port, path } = await readPreviewRequest(request);
    sendJson(response, 200, previews.issue({ sandboxId, partnerId: standing.partner.id, port }, path));
  }

  async function passOn(standing: Standing, rest: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sandboxId, status } = standing.session;
    if (status === "destroyed") throw new AppError("session_not_found");
    if (status === "paused") throw new AppError("session_paused");
    const path = toDaemonPath(rest, splitTarget(request).query);
    if (path === null) throw new AppError("not_found");
    await relayToApi(deps, { request, response, sandboxId, path });
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (!isHandshake(request)) throw new AppError("validation_failed", { message: "This is not a WebSocket handshake" });
    if (!isFromOrigin(request, origin)) throw new AppError("forbidden");
    const { path, query } = splitTarget(request);
    const [, , sandboxId = "", area, ...rest] = path.split("/");
    const daemonPath = toDaemonPath(`/${rest.join("/")}`, query);
    if (!isSandboxId(sandboxId) || area !== "api" || daemonPath === null) throw new AppError("not_found");
    const leave = (code: number, reason: string) => acceptAndClose(request, socket, code, reason);
    const { standing, refused } = await accessOf(deps, request, sandboxId);
    if (refused) return leave(CLOSE.unauthorized, refused);
    const farewell = farewellFor(standing);
    if (farewell) return leave(farewell.code, farewell.reason);
    try {
      const headers = handshakeHeaders(request);
      await sockets.join({
        request,
        socket,
        head,
        sandboxId,
        path: daemonPath,
        headers,
        isStillAllowed: async () => !(await accessOf(deps, request, sandboxId)).refused,
        refuse: ({ code, reason }) => leave(code, reason),
      });
    } catch (error) {
      const now = farewellFor(await standings.of(sandboxId));
      const why = isAppError(error, "session_elsewhere") ? error.message : "the sandbox does not answer";
      leave(now?.code ?? 1011, now?.reason ?? why);
    }
  }

  return { request: handle, upgrade };
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(308, { location, "cache-control": "no-store", "content-length": 0 });
  response.end();
}

const METHODS: Record<string, "GET" | "POST"> = { session: "GET", "session/stream": "GET", preview: "POST" };

function refuseMethod(response: ServerResponse, allowed: string): void {
  response.setHeader("allow", allowed);
  throw new AppError("method_not_allowed");
}
