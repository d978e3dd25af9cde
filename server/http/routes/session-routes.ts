import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError, type StatusOnly } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Tickets } from "../../gateway/access/launch-ticket.ts";
import type { ChangeOptions, Sessions, SessionView } from "../../sessions/sessions.ts";
import { appendAudit } from "../../store/audit.ts";
import type { Store } from "../../store/open.ts";
import type { Db } from "../../store/schema.ts";
import { jsonObject } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { auditEntry } from "./audit-entry.ts";
import type { Idempotency, Result } from "./idempotency.ts";
import { encodeCursor, parseExpand, parseList, type Query } from "./list-query.ts";
import { etagOf, matchesEtag, pageJson, toResumed, toSession, withDetails } from "./session-view.ts";
import { parseCreate, parseResume, parseUpdate } from "./validation.ts";

export interface SessionRouteDeps {
  sessions: Sessions;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  templates: { has(name: string): boolean };
  idempotency: Idempotency;
  store: Store;
  clock: Clock;
  baseUrl: string;
}

// Parse, call, reply.
export function addSessionRoutes(app: FastifyInstance, deps: SessionRouteDeps): void {
  const { sessions, tickets, templates, store, clock, baseUrl } = deps;
  const { once } = deps.idempotency;
  // What goes into the transaction of a change: who asked for it, and the answer for whoever asks again.
  const recorded = (request: FastifyRequest, action: string, save?: (tx: Db, session: SessionView) => Promise<void>): ChangeOptions => ({
    async record(tx, session) {
      await appendAudit(tx, auditEntry(request, action, session.id), clock.now());
      await save?.(tx, session);
    },
  });
  const shown = (expanded: boolean) => (expanded ? withDetails : toSession).bind(null, baseUrl);

  addRoute(app, "createSession", (request, reply) =>
    once(request, reply, async (save) => {
      const wanted = parseCreate(jsonObject(request), templates);
      const answer = (made: SessionView): Result => ({ status: 201, body: toSession(baseUrl, made) });
      const options = recorded(request, "session.create", save && ((tx, made) => save(tx, answer(made))));
      return answer(await sessions.create(request.principal.partner, wanted, options));
    }),
  );

  addRoute(app, "listSessions", async (request, reply) => {
    const query = request.query as Query;
    const expanded = parseExpand(query);
    const page = await sessions.list(partnerOf(request), parseList(query));
    const nextCursor = page.next && encodeCursor(page.next);
    return reply.type("application/json; charset=utf-8").send(pageJson(baseUrl, page.sessions, { nextCursor, expanded }));
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
    const change = parseUpdate(jsonObject(request));
    return show(await sessions.update(partnerOf(request), idOf(request), change, recorded(request, "session.update")));
  });

  addRoute(app, "destroySession", async (request): Promise<StatusOnly> => {
    const { status } = await sessions.destroy(partnerOf(request), idOf(request), recorded(request, "session.destroy"));
    return { status };
  });

  addRoute(app, "pauseSession", (request, reply) =>
    once(request, reply, async (save) => {
      const answer = ({ status }: SessionView): Result => ({ status: 200, body: { status } satisfies StatusOnly });
      const options = recorded(request, "session.pause", save && ((tx, paused) => save(tx, answer(paused))));
      return answer(await sessions.pause(partnerOf(request), idOf(request), options));
    }),
  );

  addRoute(app, "resumeSession", (request, reply) =>
    once(request, reply, async (save) => {
      const { autoStartAgent } = parseResume(jsonObject(request));
      const answer = (session: SessionView): Result => ({ status: 200, body: toResumed(baseUrl, session) });
      const options = recorded(request, "session.resume", save && ((tx, resumed) => save(tx, answer(resumed))));
      return answer(await sessions.resume(partnerOf(request), idOf(request), { autoStartAgent, ...options }));
    }),
  );

  addRoute(app, "issueLaunchUrl", (request, reply) =>
    once(request, reply, async () => {
      const session = await sessions.get(partnerOf(request), idOf(request));
      if (session.status === "destroyed") throw new AppError("session_not_found");
      await appendAudit(store.db, auditEntry(request, "session.launch_url", session.id), clock.now());
      const body = tickets.issueLaunchUrl(session);
      // A URL that has run out helps nobody; after that the same key gets a new one.
      return { status: 200, body, staleAt: body.expiresAt };
    }),
  );
}

const partnerOf = (request: FastifyRequest): string => request.principal.partner.id;
const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
