import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Registry } from "prom-client";
import { AppError, isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { Log } from "../log.ts";
import { markWork } from "../event-loop/loop-work.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { createAppFiles } from "./pages/app-files.ts";
import { createCookies } from "./access/cookie.ts";
import { createGatewayMetrics } from "./requests/metrics.ts";
import { sendPage, type PageName } from "./pages/status-pages.ts";
import { createPreview } from "./preview/preview.ts";
import { createPreviewLinks } from "./preview/preview-link.ts";
import { logAnswer, logFault } from "./requests/request-log.ts";
import { describeError, refuseUpgrade, sendError } from "./requests/reply.ts";
import { createSandboxes, type SandboxesDeps } from "./sandboxes.ts";
import { createSessionStreams } from "./session-stream.ts";
import { createSocketRelay } from "./relay/socket-relay.ts";
import { createStandings, type StandingsDeps } from "./access/session-cache.ts";
import type { Tickets } from "./access/launch-ticket.ts";
import { createWorkspace } from "./workspace.ts";

// The way from outside into sandboxes: `/workspace/**` for browsers, `/sandboxes/**` for partners' backends, and hosts of
// the preview domain for web servers in sandboxes. It takes its requests before the API sees them, because it passes
// streams on as they are. Disposing ends sockets and event streams, refuses new ones, and gives other answers that are
// under way a while.
export interface Gateway extends AsyncDisposable {
  // Whether a request is the gateway's: asked for every request of the server.
  owns(request: IncomingMessage): boolean;
  // A rejection is a fault of ours, and ends the connection.
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export interface GatewayDeps {
  sessions: Pick<Sessions, "bySandbox" | "onChange">;
  findPartner: StandingsDeps["findPartner"];
  authenticate: SandboxesDeps["authenticate"];
  links: Pick<DaemonLinks, "request" | "upgrade" | "forget">;
  tickets: Pick<Tickets, "verify">;
  secrets: Pick<Secrets, "derive">;
  registry: Registry;
  clock: Clock;
  log: Log;
  baseUrl: string;
  // null: no previews.
  previewDomain: string | null;
  // Where the browser app is built.
  appFolder: string;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { links, tickets, secrets, clock, log, baseUrl, previewDomain, authenticate } = deps;
  const standings = createStandings(deps);
  const cookies = createCookies({ secrets, secure: baseUrl.startsWith("https:"), clock });
  const sockets = createSocketRelay({ links, standings, clock });
  const previews = createPreviewLinks({ secrets, baseUrl, domain: previewDomain, clock });
  const streams = createSessionStreams({ standings, clock, previewUrlOf: (sandboxId) => previews.templateOf(sandboxId) });
  const files = createAppFiles(deps.appFolder);
  const sandboxes = createSandboxes({ authenticate, standings, links, sockets });
  const workspace = createWorkspace({ tickets, cookies, standings, log, files, streams, previews, links, sockets, baseUrl, previewDomain });
  const preview = createPreview({ previews, cookies, standings, links, sockets, baseUrl });

  const areas = {
    sandboxes: { name: "sandboxes", work: { name: "gateway sandboxes" }, ...sandboxes },
    workspace: { name: "workspace", work: { name: "gateway workspace" }, ...workspace },
    preview: { name: "preview", work: { name: "gateway preview" }, ...preview },
  };
  const areaOf = (request: IncomingMessage) => {
    if (previews.parseHost(request.headers.host)) return areas.preview;
    const match = AREA.exec(request.url ?? "");
    return match?.[1] === "sandboxes" ? areas.sandboxes : match ? areas.workspace : null;
  };
  // A request that came in while a sandbox was being frozen would wait for a daemon that does not answer.
  const pauses = deps.sessions.onChange(({ sandboxId, status }) => {
    if (status !== "running") links.forget(sandboxId);
  });
  const open = new Set<ServerResponse>();
  const metrics = createGatewayMetrics(deps.registry, { sockets: sockets.count, streams: streams.count, answers: () => open.size });
  let closed = false;

  return {
    owns: (request) => areaOf(request) !== null,

    async request(request, response) {
      const area = areaOf(request);
      if (area) markWork(area.work);
      const fail = (error: unknown) => {
        logFault(log, request, error);
        const page = area?.name !== "sandboxes" && wantsPage(request) ? pageFor(error) : null;
        if (page) sendPage(response, page, "*");
        else sendError(response, error);
      };
      request.on("error", () => {});
      response.on("error", () => {});
      open.add(response);
      response.once("close", () => {
        open.delete(response);
        metrics.answered(area?.name ?? "none", response.statusCode);
      });
      logAnswer(log, area?.name, request, response);
      if (closed) fail(new AppError("unavailable"));
      else await area?.request(request, response).catch(fail);
    },

    async upgrade(request, socket, head) {
      const area = areaOf(request);
      if (area) markWork(area.work);
      const fail = (error: unknown) => {
        logFault(log, request, error);
        const { status, body, headers } = describeError(error);
        refuseUpgrade(socket, status, JSON.stringify(body), headers);
      };
      socket.on("error", () => socket.destroy());
      if (closed) fail(new AppError("unavailable"));
      else await area?.upgrade(request, socket, head).catch(fail);
    },

    async [Symbol.asyncDispose]() {
      closed = true;
      pauses[Symbol.dispose]();
      await streams[Symbol.asyncDispose]();
      await sockets[Symbol.asyncDispose]();
      await standings[Symbol.asyncDispose]();
      setTimeout(() => open.forEach((response) => response.destroy()), DRAIN_MS).unref();
    },
  };
}

const AREA = /^\/(workspace|sandboxes)(?=[/?]|$)/;
// How long an answer that is under way may go on when the server stops.
const DRAIN_MS = 10 * SECOND;

// A browser that opens an address, as opposed to a page that asks for something.
const wantsPage = (request: IncomingMessage) => request.headers.accept?.includes("text/html") ?? false;

function pageFor(error: unknown): PageName {
  const status = isAppError(error) ? error.status : 500;
  if (status >= 500) return status === 500 ? "failed" : "unavailable";
  return PAGE_BY_STATUS[status] ?? "notFound";
}

const PAGE_BY_STATUS: Record<number, PageName> = { 401: "signedOut", 405: "notAllowed", 409: "paused" };
