import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError, isSandboxId, type SandboxId } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import { isViewerCall, ROLE_HEADER, type Visitor } from "@berth/contract/workspace/visitor.ts";
import type { Activity } from "../sessions/idle/activity.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { checkAccess } from "./access/browser-access.ts";
import {
  contentSecurityPolicy,
  frameAncestors,
  isActiveContentLoad,
  isCrossOrigin,
  isFromOrigin,
  isMutation,
} from "./access/browser-policy.ts";
import { launch, type LaunchDeps } from "./access/launch.ts";
import { notRunningError, type CachedSession } from "./access/session-cache.ts";
import { wake } from "./access/wake.ts";
import type { AppFiles } from "./pages/app-files.ts";
import { MANIFEST, workspaceManifest } from "./pages/app-manifest.ts";
import { workspacePage } from "./pages/app-page.ts";
import { sendStatusPage } from "./pages/status-pages.ts";
import { readPreviewRequest, type PreviewLinks } from "./preview/preview-link.ts";
import { spanOf } from "../tracing/span.ts";
import { relayToApi } from "./relay/api-relay.ts";
import type { OutputLimit } from "../event-loop/output-limit.ts";
import { toDaemonPath } from "./relay/daemon-path.ts";
import type { SessionLinks } from "./relay/session-links.ts";
import { closeReasonFor, type SocketRelay } from "./relay/socket-relay.ts";
import { visitorHeaders } from "./relay/sandbox-headers.ts";
import { acceptAndClose, handshakeHeaders, requireHandshake } from "./relay/websocket-handshake.ts";
import type { Handler } from "./requests/handler.ts";
import { sendJson } from "./requests/reply.ts";
import { splitUrl } from "./requests/request-parts.ts";
import type { SessionStreams } from "./session-stream.ts";
import type { UserSettingsRoute } from "./user-settings.ts";

// `/workspace/…`: launch URLs, the browser app and, for browsers with a cookie, the app's API.
export interface WorkspaceRoutesDeps extends LaunchDeps {
  sessions: Pick<Sessions, "wake" | "extend" | "retrySource">;
  files: AppFiles;
  streams: SessionStreams;
  previews: PreviewLinks;
  userSettings: UserSettingsRoute;
  links: SessionLinks;
  activity: Pick<Activity, "note">;
  outputLimit: OutputLimit;
  sockets: Pick<SocketRelay, "relay">;
  baseUrl: string;
  previewDomain: string | null;
}

export function createWorkspaceRoutes(deps: WorkspaceRoutesDeps): Handler {
  const { sessions, files, streams, previews, userSettings, activity, sockets, openings, sessionCache, cookies, baseUrl, previewDomain } =
    deps;
  const { origin } = new URL(baseUrl);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path } = splitUrl(request);
    const [, , first = "", ...rest] = path.split("/");
    if (first === "") return launch(deps, request, response);
    if (!isSandboxId(first)) {
      const found = !isMutation(request) && (await files.send(path.slice("/workspace/".length), request, response));
      return found ? undefined : sendStatusPage(response, "notFound", "*");
    }
    if (rest.length === 0) return redirect(response, `/workspace/${first}/`);
    if (rest.length === 1 && rest[0] === "") return openPage(first, request, response);
    if (rest.length === 1 && rest[0] === MANIFEST) return sendManifest(first, request, response);
    return handleAppRequest(first, rest, request, response);
  }

  async function openPage(sandboxId: SandboxId, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isMutation(request)) return sendStatusPage(response, "notAllowed", "*");
    const { cached, denied, visitor } = await checkAccess(deps, request, { sandboxId });
    if (denied) return sendStatusPage(response, denied, cached ? frameAncestors(cached.partner) : "*");
    const ancestors = frameAncestors(cached.partner);
    if (cached.session.status === "destroyed") {
      response.setHeader("set-cookie", cookies.clear({ sandboxId, partnerId: cached.partner.id }));
      return sendStatusPage(response, "destroyed", ancestors);
    }
    const page = files.page();
    if (page === null) return sendStatusPage(response, cached.session.status === "paused" ? "paused" : "editorMissing", ancestors);
    if (visitor.role === "editor") activity.note(cached.session);
    const { body, headers } = workspacePage(page, streams.describe(cached, visitor));
    response.writeHead(200, {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      "content-security-policy": contentSecurityPolicy(baseUrl, ancestors, previewDomain),
      "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  async function sendManifest(sandboxId: SandboxId, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cached, denied, visitor } = await checkAccess(deps, request, { sandboxId });
    if (denied) throw new AppError("unauthorized");
    if (isMutation(request)) throw new AppError("method_not_allowed");
    const body = workspaceManifest(streams.describe(cached, visitor));
    response.writeHead(200, {
      "content-type": "application/manifest+json",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  // The app's API: even its errors are JSON.
  async function handleAppRequest(sandboxId: SandboxId, rest: string[], request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cached, denied, visitor } = await checkAccess(deps, request, { sandboxId });
    if (denied) throw new AppError("unauthorized");
    const trusted = isMutation(request) ? isFromOrigin(request, origin) : !isCrossOrigin(request);
    if (!trusted || isActiveContentLoad(request)) throw new AppError("forbidden");
    const [first, ...deeper] = rest;
    const path = rest.join("/");
    if (first === "api") return relayRequest({ cached, visitor }, `/${deeper.join("/")}`, request, response);
    const methods = METHODS.get(path);
    if (methods === undefined) throw new AppError("not_found");
    if (!methods.includes(request.method ?? "")) {
      response.setHeader("allow", methods.join(", "));
      throw new AppError("method_not_allowed");
    }
    if (visitor.role === "viewer" && !VIEWER_PATHS.includes(path)) throw new AppError("view_only");
    if (path === "activity") {
      activity.note(cached.session);
      return void response.writeHead(204, { "cache-control": "no-store" }).end();
    }
    if (path === "resume") return resume({ cached, visitor }, response);
    if (path === "extend") {
      const session = await sessions.extend(cached.partner.id, cached.session.id);
      return sendJson(response, 200, streams.describe({ ...cached, session }, visitor));
    }
    if (path === "source/retry") {
      await sessions.retrySource(cached.partner.id, cached.session.id);
      return void response.writeHead(204, { "cache-control": "no-store" }).end();
    }
    if (path === "session") return sendJson(response, 200, streams.describe(cached, visitor));
    if (path === "session/stream") return openStream({ cached, visitor }, request, response);
    if (path === "settings") return userSettings.handle(cached, request, response);
    const { port, path: shownPath, shareHours } = await readPreviewRequest(request);
    const subject = { sandboxId, partnerId: cached.partner.id, port };
    sendJson(response, 200, shareHours === undefined ? previews.issue(subject, shownPath) : previews.share(subject, shownPath, shareHours));
  }

  // A page has this stream open for as long as it exists.
  function openStream({ cached: { session, partner }, visitor }: Entered, request: IncomingMessage, response: ServerResponse): void {
    const { sandboxId } = session;
    streams.stream(sandboxId, response, { visitor, isStillAllowed: isStillAllowed(request, sandboxId) });
    const openedAt = cookies.issuedAt(request.headers.cookie, { sandboxId, partnerId: partner.id });
    if (openedAt === null) return;
    const connection = openings.connect({ sessionId: session.id, openedAt });
    response.once("close", () => connection[Symbol.dispose]());
  }

  async function resume({ cached, visitor }: Entered, response: ServerResponse): Promise<void> {
    const woken = await wake(sessions, cached);
    const notRunning = notRunningError(woken);
    if (notRunning) throw notRunning;
    sendJson(response, 200, streams.describe(woken, visitor));
  }

  async function relayRequest(
    { cached, visitor }: Entered,
    rest: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const notRunning = notRunningError(cached);
    if (notRunning) throw notRunning;
    const path = toDaemonPath(rest, splitUrl(request).query);
    if (path === null) throw new AppError("not_found");
    if (visitor.role === "viewer" && !isViewerCall(request.method ?? "", rest)) throw new AppError("view_only");
    await relayToApi(deps, { request, response, sandboxId: cached.session.sandboxId, path, visitor });
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    requireHandshake(request);
    if (!isFromOrigin(request, origin)) throw new AppError("forbidden");
    const { path, query } = splitUrl(request);
    const [, , sandboxId = "", first, ...rest] = path.split("/");
    const daemonPath = toDaemonPath(`/${rest.join("/")}`, query);
    if (!isSandboxId(sandboxId) || first !== "api" || daemonPath === null) throw new AppError("not_found");
    const close = (code: number, reason: string) => acceptAndClose(request, socket, code, reason);
    const { cached, denied, visitor } = await checkAccess(deps, request, { sandboxId });
    if (denied) return close(CLOSE.unauthorized, denied);
    const closeReason = closeReasonFor(cached);
    if (closeReason) return close(closeReason.code, closeReason.reason);
    const isViewer = visitor.role === "viewer";
    if (isViewer && !isViewerCall("WS", `/${rest.join("/")}`)) return close(CLOSE.viewOnly, "viewers cannot use this");
    try {
      await sockets.relay({
        request,
        socket,
        head,
        sandboxId,
        path: daemonPath,
        headers: { ...handshakeHeaders(request), ...visitorHeaders(visitor) },
        span: spanOf(request),
        isStillAllowed: isStillAllowed(request, sandboxId),
        // A daemon that is older than this server does not know viewers.
        ...(isViewer && { accepts: (headers) => headers[ROLE_HEADER] === visitor.role }),
        refuse: ({ code, reason }) => close(code, reason),
      });
    } catch (error) {
      const message = isAppError(error, "session_elsewhere") ? error.message : "the sandbox does not answer";
      // If the session was paused or destroyed in the meantime, that is the reason for the failure.
      const { code, reason } = closeReasonFor(await sessionCache.get(sandboxId)) ?? { code: 1011, reason: message };
      close(code, reason);
    }
  }

  const isStillAllowed = (request: IncomingMessage, sandboxId: SandboxId) => async () =>
    !(await checkAccess(deps, request, { sandboxId })).denied;

  return { request: handle, upgrade };
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(308, { location, "cache-control": "no-store", "content-length": 0 });
  response.end();
}

// A session and the person who has it open.
interface Entered {
  cached: CachedSession;
  visitor: Visitor;
}

// The paths of METHODS that a viewer may use. The settings are those of the user whom the session belongs to.
const VIEWER_PATHS = ["session", "session/stream"];

const METHODS = new Map([
  ["activity", ["POST"]],
  ["resume", ["POST"]],
  ["extend", ["POST"]],
  ["source/retry", ["POST"]],
  ["session", ["GET"]],
  ["session/stream", ["GET"]],
  ["settings", ["GET", "PUT"]],
  ["preview", ["POST"]],
]);
