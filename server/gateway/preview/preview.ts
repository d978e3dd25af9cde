import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import type { LinkResponse, DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { accessOf } from "../access/browser-access.ts";
import type { Cookies } from "../access/cookie.ts";
import { sendPage } from "../pages/status-pages.ts";
import { frameAncestors, isMutation, isPrefetch } from "../access/browser-policy.ts";
import { createPreviewHeaders, type PreviewHeaders } from "./preview-headers.ts";
import { OPEN_PATH, type PreviewLinks } from "./preview-link.ts";
import { relay } from "../relay/http-relay.ts";
import { headerOf, refuseUpgrade, splitTarget } from "../requests/reply.ts";
import { farewellFor, isHandshake, type SocketRelay } from "../relay/socket-relay.ts";
import type { GatewayPartner, Standings } from "../access/session-cache.ts";

// `{port}-{sandboxId}.{preview domain}`: a web server that runs in the sandbox, on an origin of its own.
export interface PreviewDeps {
  previews: PreviewLinks;
  cookies: Cookies;
  standings: Standings;
  links: Pick<DaemonLinks, "request">;
  sockets: Pick<SocketRelay, "join">;
  baseUrl: string;
}

export interface Preview {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

interface Place {
  sandboxId: SandboxId;
  port: number;
}

export function createPreview(deps: PreviewDeps): Preview {
  const { previews, cookies, standings, links, sockets, baseUrl } = deps;
  const { origin: appOrigin } = new URL(baseUrl);
  const ancestorsOf = (partner: GatewayPartner) => `${frameAncestors(partner)} ${appOrigin}`;
  const headersFor = ({ sandboxId, port }: Place, partner: GatewayPartner): PreviewHeaders =>
    createPreviewHeaders({ cookies, links: previews, sandboxId, port, ancestors: ancestorsOf(partner) });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const place = placeOf(request);
    const { path } = splitTarget(request);
    if (path.startsWith("/.berth/")) return open(place, request, response);
    const { standing, refused } = await accessOf(deps, request, place.sandboxId, place.port);
    if (!standing) return sendPage(response, "previewSignedOut", "*");
    const ancestors = ancestorsOf(standing.partner);
    if (refused) return sendPage(response, refused === "suspended" ? "suspended" : "previewSignedOut", ancestors);
    if (standing.session.status === "destroyed") return sendPage(response, "destroyed", ancestors);
    if (standing.session.status === "paused") return sendPage(response, "previewPaused", ancestors);
    if (isMutation(request) && !isFromSandbox(request, place)) throw new AppError("forbidden");
    const headers = headersFor(place, standing.partner);
    try {
      await relay(links, {
        request,
        response,
        sandboxId: place.sandboxId,
        path: innerPath(request, place),
        headers: headers.inward(request),
        answerHeaders: (answer) => headers.outward(answer),
        inspect(answer) {
          if (!isPortClosed(answer)) return false;
          sendPage(response, "previewSilent", ancestors);
          return true;
        },
      });
    } catch (error) {
      if (!isAppError(error, "sandbox_unreachable")) throw error;
      sendPage(response, "unavailable", ancestors);
    }
  }

  // Exchanges the ticket of a link that the workspace has made for this host's own cookie.
  async function open(place: Place, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = splitTarget(request);
    if (path !== OPEN_PATH) return sendPage(response, "notFound", "*");
    if (request.method !== "GET") return sendPage(response, "notAllowed", "*");
    if (isPrefetch(request)) return sendPage(response, "prefetched", "*");
    const ticket = previews.verify(query, place);
    const standing = await standings.of(place.sandboxId);
    if (!ticket || standing?.partner.id !== ticket.partnerId) return sendPage(response, "previewSignedOut", "*");
    if (standing.partner.state !== "active") return sendPage(response, "suspended", "*");
    response.writeHead(303, {
      location: ticket.path,
      "set-cookie": cookies.issue({ ...place, partnerId: ticket.partnerId }),
      "content-length": 0,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": `default-src 'none'; frame-ancestors ${ancestorsOf(standing.partner)}`,
    });
    response.end();
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const place = placeOf(request);
    if (!isHandshake(request)) throw new AppError("validation_failed", { message: "This is not a WebSocket handshake" });
    if (!isFromSandbox(request, place)) throw new AppError("forbidden");
    const { standing, refused } = await accessOf(deps, request, place.sandboxId, place.port);
    if (refused) throw new AppError("unauthorized");
    if (farewellFor(standing)) throw new AppError("session_paused");
    await sockets.join({
      request,
      socket,
      head,
      sandboxId: place.sandboxId,
      path: innerPath(request, place),
      headers: headersFor(place, standing.partner).inward(request),
      isStillAllowed: async () => !(await accessOf(deps, request, place.sandboxId, place.port)).refused,
      refuse: ({ refused: answer }) => refuseUpgrade(socket, answer?.status ?? 503, "{}"),
    });
  }

  // Our cookie travels in frames of other sites, so changes are taken from pages of this sandbox alone.
  function isFromSandbox(request: IncomingMessage, { sandboxId }: Place): boolean {
    if (headerOf(request, "sec-fetch-site") === "same-origin") return true;
    const origin = headerOf(request, "origin");
    const from = origin !== undefined && URL.canParse(origin) ? new URL(origin) : null;
    const place = from && previews.parseHost(from.host);
    return place?.sandboxId === sandboxId && origin === previews.originOf(sandboxId, place.port);
  }

  const placeOf = (request: IncomingMessage): Place => {
    const place = previews.parseHost(request.headers.host);
    if (!place) throw new AppError("not_found");
    return place;
  };

  return { request: handle, upgrade };
}

function innerPath(request: IncomingMessage, { port }: Place): string {
  const target = request.url ?? "/";
  if (!target.startsWith("/")) throw new AppError("not_found");
  return `/ports/${port}${target}`;
}

// The daemon's own answer when nothing listens. An application that says the same gets the same page.
const isPortClosed = ({ status, headers }: LinkResponse) => status === 502 && headers["x-error-code"] === "port_closed";
