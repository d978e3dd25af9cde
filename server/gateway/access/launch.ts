import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "../../log.ts";
import type { Cookies } from "./cookie.ts";
import { sendPage } from "../pages/status-pages.ts";
import { frameAncestors, isPrefetch } from "./browser-policy.ts";
import { splitTarget } from "../requests/reply.ts";
import type { Standings } from "./session-cache.ts";
import type { Tickets } from "./launch-ticket.ts";

// `/workspace/?s=&partner=&ts=&sig=`: exchanges the ticket for the cookie and leads on to the workspace, whose address
// carries no secret. The ticket may be exchanged again until it expires: browsers repeat requests as they like.
export interface LaunchDeps {
  tickets: Pick<Tickets, "verify">;
  cookies: Cookies;
  standings: Standings;
  log: Log;
}

export async function launch(
  { tickets, cookies, standings, log }: LaunchDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Whoever shows what went wrong in a frame shows nothing but a sentence of ours.
  if (request.method !== "GET") return sendPage(response, "notAllowed", "*");
  if (isPrefetch(request)) return sendPage(response, "prefetched", "*");
  const ticket = tickets.verify(splitTarget(request).query);
  if (!ticket.valid) {
    log.info("launch.refused", { fault: ticket.fault });
    return sendPage(response, ticket.fault === "early" ? "expired" : ticket.fault, "*");
  }
  const { sandboxId, partnerId } = ticket;
  const standing = await standings.of(sandboxId);
  if (standing && standing.partner.id !== partnerId) return sendPage(response, "forged", "*");
  if (!standing || standing.session.status === "destroyed") return sendPage(response, "destroyed", "*");
  if (standing.partner.state !== "active") return sendPage(response, "suspended", frameAncestors(standing.partner));
  log.info("launch.opened", { sessionId: standing.session.id, partnerId });
  response.writeHead(303, {
    location: `/workspace/${sandboxId}/`,
    "set-cookie": [...cookies.issue({ sandboxId, partnerId }), ...cookies.evict(request.headers.cookie, sandboxId)],
    "content-length": 0,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": `default-src 'none'; frame-ancestors ${frameAncestors(standing.partner)}`,
  });
  response.end();
}
