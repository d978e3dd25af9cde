import type { IncomingMessage, ServerResponse } from "node:http";
import { HOUR, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { sendStatusPage } from "../pages/status-pages.ts";
import { splitUrl } from "../requests/request-parts.ts";
import { allowsSupport } from "./browser-access.ts";
import { frameAncestors, isPrefetch } from "./browser-policy.ts";
import type { Cookies } from "./cookie.ts";
import type { Tickets } from "./launch-ticket.ts";
import type { SessionCache } from "./session-cache.ts";
import { wakeForPage, type Waker } from "./wake.ts";

export interface LaunchDeps {
  tickets: Pick<Tickets, "verify">;
  cookies: Cookies;
  sessionCache: SessionCache;
  sessions: Waker;
  openings: OpeningRecorder;
  // The address of the person's browser.
  addressOf: (request: IncomingMessage) => string;
  clock: Pick<Clock, "now">;
  log: Log;
}

// How long support may look before it has to ask the console again.
const SUPPORT_MS = HOUR;

// Records who opened a session, and how long its pages stay connected.
export interface OpeningRecorder {
  add(opening: {
    sessionId: string;
    openedAt: number;
    address: string;
    userAgent: string | undefined;
    role: string | null;
    name: string | null;
  }): void;
  connect(opening: { sessionId: string; openedAt: number }): Disposable;
  // Writes what was added.
  flush(): Promise<void>;
}

// Handles launch URLs, `/workspace/?s=&partner=&ts=&sig=`: exchanges the ticket for a cookie and redirects to the workspace,
// whose address holds no secret. A ticket works repeatedly until it expires, because browsers repeat requests.
export async function launch(
  { tickets, cookies, sessionCache, sessions, openings, addressOf, clock, log }: LaunchDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Any site may frame these pages: they contain nothing but fixed text.
  if (request.method !== "GET") return sendStatusPage(response, "notAllowed", "*");
  if (isPrefetch(request)) return sendStatusPage(response, "prefetched", "*");
  const ticket = tickets.verify(splitUrl(request).query);
  if (!ticket.valid) {
    log.info("launch.refused", { fault: ticket.fault });
    return sendStatusPage(response, ticket.fault === "early" ? "expired" : ticket.fault, "*");
  }
  const { sandboxId, partnerId, visitor } = ticket;
  const cached = await sessionCache.get(sandboxId);
  if (cached && cached.partner.id !== partnerId) return sendStatusPage(response, "forged", "*");
  if (!cached || cached.session.status === "destroyed") return sendStatusPage(response, "destroyed", "*");
  if (cached.partner.state !== "active") return sendStatusPage(response, "suspended", frameAncestors(cached.partner));
  if (visitor.isSupport && !(await allowsSupport(sessionCache, cached))) return sendStatusPage(response, "signedOut", "*");
  // A viewer changes nothing, so the page of a paused session stays paused for them.
  if (visitor.role === "editor" && (await wakeForPage(sessions, cached)) === "full")
    return sendStatusPage(response, "noRoom", frameAncestors(cached.partner));
  const openedAt = clock.now();
  const { id: sessionId } = cached.session;
  openings.add({
    sessionId,
    openedAt,
    address: addressOf(request),
    userAgent: request.headers["user-agent"],
    role: visitor.isSupport ? "support" : visitor.role,
    name: visitor.displayName,
  });
  // The user must see the visit from its beginning.
  if (visitor.isSupport) await openings.flush();
  log.info("launch.opened", { sessionId, partnerId, role: visitor.role });
  response.writeHead(303, {
    location: `/workspace/${sandboxId}/`,
    "set-cookie": [
      ...cookies.issue(
        { sandboxId, partnerId },
        { issuedAt: openedAt, visitor, ...(visitor.isSupport && { untilMs: openedAt + SUPPORT_MS }) },
      ),
      ...cookies.evict(request.headers.cookie, sandboxId),
    ],
    "content-length": 0,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": `default-src 'none'; frame-ancestors ${frameAncestors(cached.partner)}`,
  });
  response.end();
}
