import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Registry } from "prom-client";
import { AppError, isAppError } from "@berth/contract";
import type { PreviewLink } from "@berth/contract/workspace/workspace.ts";
import { SECOND, type Clock } from "../clock.ts";
import { markWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { AuthenticateSession } from "../session-access.ts";
import type { Activity } from "../sessions/idle/activity.ts";
import type { Sessions, SessionView } from "../sessions/sessions.ts";
import { createCookies } from "./access/cookie.ts";
import type { LaunchDeps, OpeningRecorder } from "./access/launch.ts";
import type { Tickets } from "./access/launch-ticket.ts";
import { createSessionCache, type SessionCacheDeps } from "./access/session-cache.ts";
import type { Facade, GatewayParts } from "./facade.ts";
import { createAppFiles } from "./pages/app-files.ts";
import { sendStatusPage, type PageName } from "./pages/status-pages.ts";
import { createPreviewLinks } from "./preview/preview-link.ts";
import type { PreviewGuests } from "./preview/preview-guests.ts";
import { createTokenGuests, joinGuests } from "./preview/token-guests.ts";
import { createPreview } from "./preview/preview.ts";
import { createOutputLimit } from "../event-loop/output-limit.ts";
import { createRecentHolders } from "../fairness/recent-holders.ts";
import { createAccessChecks } from "./relay/access-checks.ts";
import { relayToApi, type ApiRequest } from "./relay/api-relay.ts";
import { createSessionLinks, type SessionLinksDeps } from "./relay/session-links.ts";
import { createSocketRelay } from "./relay/socket-relay.ts";
import { measureResponses } from "./requests/response-times.ts";
import { createGatewayMetrics } from "./requests/metrics.ts";
import { refuseUpgrade, sendError } from "./requests/reply.ts";
import { endUpgradeSpan, logInternalError, logResponse } from "./requests/request-log.ts";
import { createSandboxes, type SandboxesDeps } from "./sandboxes.ts";
import { createSessionStreams } from "./session-stream.ts";
import { createUserSettings, type SettingsStore } from "./user-settings.ts";
import { createWorkspaceRoutes } from "./workspace-routes.ts";

// Relays outside requests into sandboxes: `/workspace/**` for browsers, `/sandboxes/**` for partners' backends, and the hosts
// of the preview domain for web servers in sandboxes. Its requests bypass the API, because it streams bodies unparsed.
// Disposing refuses new requests, closes sockets and event streams, and gives other replies DRAIN_MS to finish.
export interface Gateway extends AsyncDisposable {
  // True if the gateway handles this request. Called for every request of the server.
  owns(request: IncomingMessage): boolean;
  // Rejects only on a bug; the caller of this method then closes the connection.
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  // A signed URL for one port of a session.
  issuePreviewUrl(session: SessionView, preview: { port: number; path: string; ttlMs: number }): PreviewLink;
  // Relays a request of the partner API, which has authorized it, to a path of a daemon. Rejects if nothing was sent.
  relayStream(request: IncomingMessage, response: ServerResponse, target: StreamTarget): Promise<void>;
  // For facades whose routes belong to the partner API.
  parts: GatewayParts;
}

export type StreamTarget = Pick<ApiRequest, "sandboxId" | "path" | "onUnknown">;

export interface GatewayDeps {
  sessions: Pick<Sessions, "bySandbox" | "onChange" | "wake" | "extend" | "retrySource">;
  findPartner: SessionCacheDeps["findPartner"];
  hasSupportVisit: SessionCacheDeps["hasSupportVisit"];
  authenticate: SandboxesDeps["authenticate"];
  authenticateSession: AuthenticateSession;
  links: SessionLinksDeps["links"];
  // Records every use of a session.
  activity: Pick<Activity, "note" | "begin">;
  tickets: Pick<Tickets, "verify">;
  settingsStore: SettingsStore;
  openings: OpeningRecorder;
  addressOf: LaunchDeps["addressOf"];
  secrets: Pick<Secrets, "derive">;
  registry: Registry;
  clock: Clock;
  log: Log;
  baseUrl: string;
  // null: previews are off.
  previewDomain: string | null;
  // The most hours for which a preview may be shared; 0 if not at all.
  maxShareHours: number;
  // The build output of the browser app.
  appFolder: string;
  // Absent: there is none.
  facade?: { open: (parts: GatewayParts) => Facade; guests: PreviewGuests };
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { sessions, activity, tickets, secrets, clock, log, baseUrl, previewDomain, maxShareHours, authenticate } = deps;
  const sessionCache = createSessionCache(deps);
  const links = createSessionLinks({ links: measureResponses(deps.registry, deps.links), sessionCache, sessions });
  const cookies = createCookies({ secrets, secure: baseUrl.startsWith("https:"), clock });
  // A terminal's output costs more: the kernel processes it byte by byte, and it is sent in small frames. A sandbox that
  // is alone on the server may keep it busy.
  const holders = createRecentHolders();
  const outputLimit = createOutputLimit({ mibPerSecond: 32, shared: { mibPerSecond: 12, holders } });
  const socketLimit = createOutputLimit({ mibPerSecond: 12, shared: { mibPerSecond: 4, holders } });
  const accessChecks = createAccessChecks(clock);
  const sockets = createSocketRelay({ links, sessionCache, outputLimit: socketLimit, accessChecks, clock });
  const previews = createPreviewLinks({ secrets, baseUrl, domain: previewDomain, clock, maxShareHours });
  const streams = createSessionStreams({ sessionCache, clock, previewUrlOf: (sandboxId) => previews.templateOf(sandboxId) });
  const files = createAppFiles(deps.appFolder);
  const sandboxes = createSandboxes({ authenticate, sessionCache, sessions, links, activity, outputLimit, accessChecks, sockets, clock });
  const workspace = createWorkspaceRoutes({
    tickets,
    cookies,
    sessionCache,
    sessions,
    openings: deps.openings,
    addressOf: deps.addressOf,
    clock,
    log,
    files,
    streams,
    previews,
    userSettings: createUserSettings({ store: deps.settingsStore, clock }),
    links,
    activity,
    outputLimit,
    sockets,
    baseUrl,
    previewDomain,
  });
  const guests = joinGuests([createTokenGuests(deps.authenticateSession), ...(deps.facade ? [deps.facade.guests] : [])]);
  const preview = createPreview({
    previews,
    cookies,
    sessionCache,
    sessions,
    links,
    activity,
    outputLimit,
    accessChecks,
    sockets,
    baseUrl,
    guests,
  });
  const parts: GatewayParts = {
    sessionCache,
    sessions,
    links,
    activity,
    outputLimit,
    parseHost: previews.parseHost,
    addressOf: deps.addressOf,
    endWithAccess(request, response) {
      const access = accessChecks.watch(
        async () => (await authenticate(request)) !== null,
        () => response.destroy(),
      );
      response.once("close", () => access[Symbol.dispose]());
    },
  };
  const facade = deps.facade?.open(parts);

  const areas = {
    sandboxes: { name: "sandboxes", work: { name: "gateway sandboxes" }, ...sandboxes },
    workspace: { name: "workspace", work: { name: "gateway workspace" }, ...workspace },
    preview: { name: "preview", work: { name: "gateway preview" }, ...preview },
    facade: facade && { name: "facade", work: { name: "gateway facade" }, ...facade },
  };
  const areaOf = (request: IncomingMessage) => {
    if (areas.facade?.owns(request)) return areas.facade;
    if (previews.parseHost(request.headers.host)) return areas.preview;
    const match = AREA.exec(request.url ?? "");
    return match?.[1] === "sandboxes" ? areas.sandboxes : match ? areas.workspace : null;
  };
  const open = new Set<ServerResponse>();
  const metrics = createGatewayMetrics(deps.registry, { sockets: sockets.count, streams: streams.count, responses: () => open.size });
  let closed = false;
  // It is the same for every request through that proxy, so it is logged once.
  let hasStrippedUpgrade = false;

  return {
    owns: (request) => areaOf(request) !== null,

    async request(request, response) {
      const area = areaOf(request);
      if (area) markWork(area.work);
      const replyWithError = (error: unknown) => {
        logInternalError(log, request, error);
        const page = area?.name !== "sandboxes" && wantsPage(request) ? pageFor(error) : null;
        if (page) sendStatusPage(response, page, "*");
        else sendError(response, error);
      };
      request.on("error", ignore);
      response.on("error", ignore);
      open.add(response);
      // It closes once, and `once` would cost several times as much.
      response.on("close", () => {
        open.delete(response);
        metrics.countResponse(area?.name ?? "none", response.statusCode);
      });
      logResponse(log, area?.name, request, response);
      if (closed) replyWithError(new AppError("unavailable"));
      else if (area?.name !== "preview" && isStrippedUpgrade(request)) {
        if (!hasStrippedUpgrade) log.warn("gateway.upgrade_stripped", { message: new AppError("upgrade_required").message });
        hasStrippedUpgrade = true;
        replyWithError(new AppError("upgrade_required"));
      } else await area?.request(request, response).catch(replyWithError);
    },

    async upgrade(request, socket, head) {
      const area = areaOf(request);
      if (area) markWork(area.work);
      const replyWithError = (error: unknown) => {
        logInternalError(log, request, error);
        refuseUpgrade(socket, error);
      };
      socket.on("error", () => socket.destroy());
      if (closed) replyWithError(new AppError("unavailable"));
      else await area?.upgrade(request, socket, head).catch(replyWithError);
      if (area?.name !== "preview") endUpgradeSpan(request);
    },

    issuePreviewUrl: ({ sandboxId, partnerId }, { port, path, ttlMs }) => previews.handOut({ sandboxId, partnerId, port }, path, ttlMs),
    parts,

    relayStream(request, response, target) {
      parts.endWithAccess(request, response);
      return relayToApi({ links, outputLimit }, { request, response, ...target });
    },

    async [Symbol.asyncDispose]() {
      closed = true;
      links[Symbol.dispose]();
      await streams[Symbol.asyncDispose]();
      await sockets[Symbol.asyncDispose]();
      await accessChecks[Symbol.asyncDispose]();
      await sessionCache[Symbol.asyncDispose]();
      setTimeout(() => open.forEach((response) => response.destroy()), DRAIN_MS).unref();
    },
  };
}

// Proxies that do not know WebSockets remove Upgrade, and pass on the other headers.
const isStrippedUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers["sec-websocket-key"] !== undefined && headers.upgrade === undefined;

const AREA = /^\/(workspace|sandboxes)(?=[/?]|$)/;
const ignore = () => {};
const DRAIN_MS = 10 * SECOND;

// True for a browser that navigates to the address; scripts get JSON.
const wantsPage = (request: IncomingMessage) => request.headers.accept?.includes("text/html") ?? false;

function pageFor(error: unknown): PageName {
  const status = isAppError(error) ? error.status : 500;
  if (status >= 500) return status === 500 ? "failed" : "unavailable";
  return PAGE_BY_STATUS[status] ?? "notFound";
}

const PAGE_BY_STATUS: Record<number, PageName> = { 401: "signedOut", 405: "notAllowed", 409: "paused" };
