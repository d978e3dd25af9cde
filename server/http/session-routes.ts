import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError, type ResumedSession, type SessionList, type StatusOnly } from "@berth/contract";
import type { Tickets } from "../gateway/ticket.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { jsonObject } from "./body.ts";
import type { Idempotency } from "./idempotency.ts";
import { encodeCursor, parseExpand, parseList, type Query } from "./list-query.ts";
import { addRoute } from "./route.ts";
import { etagOf, matchesEtag, sandboxUrl, toSession, withDetails } from "./session-view.ts";
import { parseCreate, parseResume, parseUpdate } from "./validation.ts";

export interface SessionRouteDeps {
  sessions: Sessions;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  templates: { has(name: string): boolean };
  idempotency: Idempotency;
  baseUrl: string;
}

// Parse, call, reply.
export function addSessionRoutes(app: FastifyInstance, deps: SessionRouteDeps): void {
  const { sessions, tickets, templates, baseUrl } = deps;
  const { once } = deps.idempotency;
  const shown = (expanded: boolean) => (expanded ? withDetails : toSession).bind(null, baseUrl);

  addRoute(app, "createSession", (request, reply) =>
    once(request, reply, async (save) => {
      const wanted = parseCreate(jsonObject(request), templates);
      const session = await sessions.create(request.principal.partner, wanted, {
        ...(save && { inTransaction: (tx, made) => save(tx, { status: 201, body: toSession(baseUrl, made) }) }),
      });
      return { status: 201, body: toSession(baseUrl, session) };
    }),
  );

  addRoute(app, "listSessions", async (request): Promise<SessionList> => {
    const query = request.query as Query;
    const show = shown(parseExpand(query));
    const page = await sessions.list(partnerOf(request), parseList(query));
    return { data: page.sessions.map(show), nextCursor: page.next && encodeCursor(page.next) };
  });

  addRoute(app, "getSession", async (request, reply) => {
    const expanded = parseExpand(request.query as Query);
    const session = await sessions.get(partnerOf(request), idOf(request));
    const etag = etagOf(session, expanded);
    reply.header("etag", etag).header("cache-control", "private, no-cache");
    if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
    return shown(expanded)(session);
  });

  addRoute(app, "updateSession", async (request) => {
    const show = shown(parseExpand(request.query as Query));
    return show(await sessions.update(partnerOf(request), idOf(request), parseUpdate(jsonObject(request))));
  });

  addRoute(app, "destroySession", async (request): Promise<StatusOnly> => {
    const { status } = await sessions.destroy(partnerOf(request), idOf(request));
    return { status };
  });

  addRoute(app, "pauseSession", (request, reply) =>
    once(request, reply, async () => {
      const { status } = await sessions.pause(partnerOf(request), idOf(request));
      return { status: 200, body: { status } satisfies StatusOnly };
    }),
  );

  addRoute(app, "resumeSession", (request, reply) =>
    once(request, reply, async () => {
      const options = parseResume(jsonObject(request));
      const session = await sessions.resume(partnerOf(request), idOf(request), options);
      const body: ResumedSession = { status: session.status, sandboxId: session.sandboxId, sandboxUrl: sandboxUrl(baseUrl, session) };
      return { status: 200, body };
    }),
  );

  addRoute(app, "issueLaunchUrl", (request, reply) =>
    once(request, reply, async () => {
      const session = await sessions.get(partnerOf(request), idOf(request));
      if (session.status === "destroyed") throw new AppError("session_not_found");
      const body = tickets.issueLaunchUrl(session);
      // A URL that has run out helps nobody; after that the same key gets a new one.
      return { status: 200, body, staleAt: body.expiresAt };
    }),
  );
}

const partnerOf = (request: FastifyRequest): string => request.principal.partner.id;
const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
