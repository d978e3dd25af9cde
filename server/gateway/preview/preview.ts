import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError } from "@berth/contract";
import type { DaemonLinks, LinkResponse } from "../../daemon-link/daemon-links.ts";
import type { Activity } from "../../sessions/idle/activity.ts";
import { checkAccess } from "../access/browser-access.ts";
import { frameAncestors, isMutation, isPageOpening, isPrefetch } from "../access/browser-policy.ts";
import type { Cookies } from "../access/cookie.ts";
import type { CachedSession, GatewayPartner, SessionCache } from "../access/session-cache.ts";
import { wake, wakeForPage, type Waker } from "../access/wake.ts";
import { sendStatusPage } from "../pages/status-pages.ts";
import type { AccessChecks } from "../relay/access-checks.ts";
import { relayHttp } from "../relay/http-relay.ts";
import type { OutputLimit } from "../../event-loop/output-limit.ts";
import { closeReasonFor, type SocketRelay } from "../relay/socket-relay.ts";
import { requireHandshake } from "../relay/websocket-handshake.ts";
import { relayRefusal, sendJson } from "../requests/reply.ts";
import { headerOf, splitUrl } from "../requests/request-parts.ts";
import { isFramedPage, SCRIPT_PATH, scriptTagFor, sendScript } from "./address-report.ts";
import type { PreviewGuests } from "./preview-guests.ts";
import { createPreviewHeaders, type PreviewHeaders } from "./preview-headers.ts";
import type { Handler } from "../requests/handler.ts";
import { OPEN_PATH, type PreviewLinks, type PreviewTarget } from "./preview-link.ts";

// `{port}-{sandboxId}.{preview domain}`: a web server that runs in a sandbox, on its own origin.
export interface PreviewDeps {
  previews: PreviewLinks;
  cookies: Cookies;
  sessionCache: SessionCache;
  sessions: Waker;
  links: Pick<DaemonLinks, "request">;
  activity: Pick<Activity, "note">;
  outputLimit: OutputLimit;
  accessChecks: AccessChecks;
  sockets: Pick<SocketRelay, "relay">;
  baseUrl: string;
  guests: PreviewGuests;
}

export function createPreview(deps: PreviewDeps): Handler {
  const { previews, cookies, sessionCache, activity, sockets, baseUrl } = deps;
  const { origin: appOrigin } = new URL(baseUrl);
  const ancestorsOf = (partner: GatewayPartner) => `${frameAncestors(partner)} ${appOrigin}`;
  const headersFor = (target: PreviewTarget, partner: GatewayPartner): PreviewHeaders =>
    createPreviewHeaders({ cookies, links: previews, ...target, ancestors: ancestorsOf(partner) });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = targetOf(request);
    const { path } = splitUrl(request);
    if (path === SCRIPT_PATH) return sendScript(response, appOrigin);
    if (path.startsWith("/.berth/")) return exchangeTicket(target, request, response);
    const access = await checkAccess(deps, request, target);
    const guest = access.denied ? await deps.guests.admit(request, target, access.cached) : null;
    if (guest?.admitted === false && guest.error) throw guest.error;
    if (guest && !guest.admitted) return sendJson(response, guest.status, guest.body);
    if (!access.cached) return sendStatusPage(response, "previewSignedOut", "*");
    const ancestors = ancestorsOf(access.cached.partner);
    if (access.denied && !guest)
      return sendStatusPage(response, access.denied === "suspended" ? "suspended" : "previewSignedOut", ancestors);
    const cached = guest ? await wake(deps.sessions, access.cached) : await wakeIfOpened(access.cached, target, request);
    if (cached === "full") return sendStatusPage(response, "noRoom", ancestors);
    if (cached.session.status === "destroyed") return sendStatusPage(response, "destroyed", ancestors);
    if (cached.session.status === "paused")
      return sendStatusPage(response, mayWake(cached, target, request) ? "previewAsleep" : "previewPaused", ancestors);
    if (!guest && isMutation(request) && !isFromSandbox(request, target)) throw new AppError("forbidden");
    activity.note(cached.session);
    if (guest) endWithAccess(request, response, target);
    const headers = headersFor(target, cached.partner);
    const framed = isFramedPage(request);
    try {
      await relayHttp(deps, {
        request,
        response,
        sandboxId: target.sandboxId,
        path: daemonPathOf(request, target),
        headers: {
          ...headers.toSandbox(request),
          ...(guest?.host !== undefined && { host: guest.host }),
          ...(framed && { "accept-encoding": "identity" }),
        },
        responseHeaders: (daemonHeaders) => headers.fromSandbox(daemonHeaders),
        ...(framed && { appendix: scriptTagFor }),
        intercept(daemonResponse) {
          if (!isPortClosed(daemonResponse)) return false;
          sendStatusPage(response, "previewNoServer", ancestors);
          return true;
        },
      });
    } catch (error) {
      if (!isAppError(error, "sandbox_unreachable")) throw error;
      sendStatusPage(response, "unavailable", ancestors);
    }
  }

  // A stream that a guest has opened ends when the guest is no longer admitted.
  function endWithAccess(request: IncomingMessage, response: ServerResponse, target: PreviewTarget): void {
    const isStillAllowed = async () => {
      const cached = await sessionCache.get(target.sandboxId);
      return (await deps.guests.admit(request, target, cached))?.admitted ?? false;
    };
    const access = deps.accessChecks.watch(isStillAllowed, () => response.destroy());
    response.once("close", () => access[Symbol.dispose]());
  }

  async function wakeIfOpened(cached: CachedSession, target: PreviewTarget, request: IncomingMessage): Promise<CachedSession | "full"> {
    return isPageOpening(request) && mayWake(cached, target, request) ? wakeForPage(deps.sessions, cached) : cached;
  }

  // A link that was passed on does not wake the session, because anyone may have it.
  function mayWake({ session, partner }: CachedSession, target: PreviewTarget, { headers }: IncomingMessage): boolean {
    return session.autoResume && !cookies.isShared(headers.cookie, { ...target, partnerId: partner.id });
  }

  // Exchanges the ticket of a link that the workspace issued for this host's own cookie.
  async function exchangeTicket(target: PreviewTarget, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = splitUrl(request);
    if (path !== OPEN_PATH) return sendStatusPage(response, "notFound", "*");
    if (request.method !== "GET") return sendStatusPage(response, "notAllowed", "*");
    if (isPrefetch(request)) return sendStatusPage(response, "prefetched", "*");
    const ticket = previews.verify(query, target);
    const cached = await sessionCache.get(target.sandboxId);
    if (!ticket || cached?.partner.id !== ticket.partnerId) return sendStatusPage(response, "previewSignedOut", "*");
    if (cached.partner.state !== "active") return sendStatusPage(response, "suspended", "*");
    const { untilMs } = ticket;
    response.writeHead(303, {
      location: ticket.path,
      "set-cookie": cookies.issue({ ...target, partnerId: ticket.partnerId }, untilMs === undefined ? {} : { untilMs }),
      "content-length": 0,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": `default-src 'none'; frame-ancestors ${ancestorsOf(cached.partner)}`,
    });
    response.end();
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const target = targetOf(request);
    requireHandshake(request);
    const { cached, denied } = await checkAccess(deps, request, target);
    const guest = denied ? await deps.guests.admit(request, target, cached) : null;
    if (guest?.admitted === false && guest.error) throw guest.error;
    if (!cached || (denied && !guest?.admitted)) throw new AppError("unauthorized");
    // A cookie is sent by other sites too.
    if (!denied && !isFromSandbox(request, target)) throw new AppError("forbidden");
    if (closeReasonFor(cached)) throw new AppError("session_paused");
    activity.note(cached.session);
    await sockets.relay({
      request,
      socket,
      head,
      sandboxId: target.sandboxId,
      path: daemonPathOf(request, target),
      headers: headersFor(target, cached.partner).toSandbox(request),
      isStillAllowed: async () => {
        const now = await checkAccess(deps, request, target);
        return !now.denied || ((await deps.guests.admit(request, target, now.cached))?.admitted ?? false);
      },
      refuse: ({ refused }) => relayRefusal(socket, refused?.status ?? 503, "{}"),
    });
  }

  // Other sites may frame a preview, so browsers attach our cookie to their requests. Mutations are therefore accepted only
  // from pages of the same sandbox.
  function isFromSandbox(request: IncomingMessage, { sandboxId }: PreviewTarget): boolean {
    if (headerOf(request, "sec-fetch-site") === "same-origin") return true;
    const origin = headerOf(request, "origin");
    const from = origin !== undefined && URL.canParse(origin) ? previews.parseHost(new URL(origin).host) : null;
    return from?.sandboxId === sandboxId && origin === previews.originOf(sandboxId, from.port);
  }

  function targetOf(request: IncomingMessage): PreviewTarget {
    // Node ignores a second Host header, and a program in between may have read that one.
    if (hostCount(request) > 1) throw new AppError("bad_request");
    const target = previews.parseHost(request.headers.host);
    if (!target) throw new AppError("not_found");
    return target;
  }

  return { request: handle, upgrade };
}

const hostCount = ({ rawHeaders }: IncomingMessage) =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;

function daemonPathOf(request: IncomingMessage, { port }: PreviewTarget): string {
  const url = request.url ?? "/";
  if (!url.startsWith("/")) throw new AppError("not_found");
  return `/ports/${port}${url}`;
}

// The daemon's own reply when no server listens on the port. An application that sends the same reply gets the same page.
const isPortClosed = ({ status, headers }: LinkResponse) => status === 502 && headers["x-error-code"] === "port_closed";
