import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply } from "fastify";
import { AppError, CreateSession, UpdateSession, type StatusOnly } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { createKeyedLock } from "../../fairness/keyed-lock.ts";
import { createLoopTurns } from "../../event-loop/loop-turns.ts";
import { createOutputLimit } from "../../event-loop/output-limit.ts";
import type { Tickets } from "../../gateway/access/launch-ticket.ts";
import type { ServerDirectory } from "../../sessions/server-directory.ts";
import type { Runs } from "../../sessions/runs/runs.ts";
import type { Sessions, SessionView } from "../../sessions/sessions.ts";
import type { Snapshots } from "../../sessions/snapshots/snapshots.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { Store } from "../../store/open.ts";
import { SLICE_BYTES } from "../../store/page-budget.ts";
import type { Templates } from "../../templates.ts";
import { parseOptionalBody, parseRequiredBody, parseUntypedBody } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import type { Idempotency, Result } from "../requests/idempotency.ts";
import { encodeCursor, parseExpand, parseList, parseWait, type Query } from "../session-format/list-query.ts";
import { createCreateSessions } from "./create-sessions.ts";
import type { RunPart } from "./fork-sessions.ts";
import { createRecordChange } from "./record-change.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";
import { readEgressLog } from "../session-format/egress-log.ts";
import { findChangeFaults } from "../session-format/rule-requests.ts";
import { parseLaunch, parseResume, parseUpdate } from "../session-format/session-requests.ts";
import {
  etagOf,
  formatSession,
  matchesEtag,
  pageJson,
  rememberTexts,
  toResumed,
  toSession,
  type SessionFormat,
} from "../session-format/session-view.ts";

export interface SessionRouteDeps {
  sessions: Sessions;
  snapshots: Pick<Snapshots, "templateOf" | "withFiles">;
  runs: Pick<Runs, "createIn" | "deliver">;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  templates: Pick<Templates, "get">;
  idempotency: Idempotency;
  store: Store;
  clock: Clock;
  servers: Pick<ServerDirectory, "learn" | "baseUrlOf">;
}

export function addSessionRoutes(app: FastifyInstance, deps: SessionRouteDeps): void {
  const { sessions, tickets, templates, store, clock, servers } = deps;
  const { baseUrlOf } = servers;
  const { runOnce } = deps.idempotency;
  const nextSlice = createLoopTurns();
  const listLimit = createOutputLimit({ mibPerSecond: 8 });
  const oneListOfPartner = createKeyedLock();
  const createSessions = createCreateSessions(deps);
  // Creates that wait for a source must not hold up the end of the server.
  const closing = new AbortController();
  app.addHook("preClose", async () => closing.abort());

  const recordChange = createRecordChange(clock);

  addRoute(app, "createSession", (request, reply) =>
    runOnce(request, reply, (save) => {
      const body = parseRequiredBody(request, CreateSession);
      const isAborted = AbortSignal.any([closing.signal, disconnected(reply)]);
      const runPart: RunPart = (part, work) => deps.idempotency.runPart(request, part, work);
      return createSessions(request, body, { wait: parseWait(request.query as Query), isAborted, save, runPart });
    }),
  );

  // A large page takes milliseconds of the event loop to read, serialize and send. So a partner's pages come one after the
  // other, in slices, and at a limited rate.
  addRoute(app, "listSessions", async (request, reply) => {
    const query = request.query as Query;
    const format = parseExpand(query);
    const filter = parseList(query);
    const partnerId = partnerIdOf(request);
    return oneListOfPartner(partnerId, async () => {
      const page = await sessions.list(partnerId, filter);
      if (page.metadataBytes > SLICE_BYTES) await nextSlice();
      const nextCursor = page.next && encodeCursor(page.next);
      await servers.learn(page.sessions);
      reply.type("application/json; charset=utf-8").send(pageJson(baseUrlOf, page.sessions, { nextCursor, format }));
      const waitMs = listLimit.count(partnerId, page.metadataBytes);
      if (waitMs > 0) await sleep(waitMs);
      return reply;
    });
  });

  const briefOf = rememberTexts((baseUrl, session) => JSON.stringify(toSession(baseUrl, session)));
  const bodyOf = (session: SessionView, format: SessionFormat): string =>
    format === "brief" ? briefOf(baseUrlOf(session), session) : JSON.stringify(formatSession(baseUrlOf(session), session, format));

  // Most sessions are in memory, and then nothing here waits.
  addRoute(app, "getSession", (request, reply) => {
    const format = parseExpand(request.query as Query);
    const found = sessions.read(partnerIdOf(request), idOf(request));
    return found instanceof Promise ? found.then((session) => answer(session)) : answer(found);

    function answer(session: SessionView): string | undefined | Promise<string> {
      const etag = etagOf(session, format);
      reply.header("etag", etag).header("cache-control", "private, no-cache");
      if (matchesEtag(request.headers["if-none-match"], etag)) return void reply.code(304).send();
      reply.type("application/json; charset=utf-8");
      return servers.learn([session])?.then(() => bodyOf(session, format)) ?? bodyOf(session, format);
    }
  });

  addRoute(app, "getEgress", async (request) => {
    const { id } = await sessions.get(partnerIdOf(request), idOf(request));
    return readEgressLog(store.db, id);
  });

  addRoute(app, "updateSession", async (request) => {
    const format = parseExpand(request.query as Query);
    const body = parseRequiredBody(request, UpdateSession);
    const limited = LIMIT_FIELDS.some((field) => body[field] !== undefined)
      ? await sessions.get(partnerIdOf(request), idOf(request))
      : null;
    const change = parseUpdate(body, (update) => (limited ? findChangeFaults(templates.get(limited.template), limited, update) : []));
    const options = recordChange(request, "session.update");
    const session = await sessions.update(partnerIdOf(request), idOf(request), change, options);
    await servers.learn([session]);
    return formatSession(baseUrlOf(session), session, format);
  });

  addRoute(app, "destroySession", async (request): Promise<StatusOnly> => {
    const { status } = await sessions.destroy(partnerIdOf(request), idOf(request), recordChange(request, "session.destroy"));
    return { status };
  });

  addRoute(app, "retrySource", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const toResult = (session: SessionView): Result => ({ status: 200, body: formatSession(baseUrlOf(session), session, "detailed") });
      const options = recordChange(request, "session.retry_source", save, toResult);
      return toResult(await sessions.retrySource(partnerIdOf(request), idOf(request), options));
    }),
  );

  addRoute(app, "pauseSession", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const toResult = ({ status }: SessionView): Result => ({ status: 200, body: { status } satisfies StatusOnly });
      const options = recordChange(request, "session.pause", save, toResult);
      return toResult(await sessions.pause(partnerIdOf(request), idOf(request), options));
    }),
  );

  addRoute(app, "resumeSession", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const { autoStartAgent } = parseResume(parseOptionalBody(request));
      const toResult = (session: SessionView): Result => ({ status: 200, body: toResumed(baseUrlOf(session), session) });
      const options = recordChange(request, "session.resume", save, toResult);
      return toResult(await sessions.resume(partnerIdOf(request), idOf(request), { autoStartAgent, ...options }));
    }),
  );

  addRoute(app, "issueLaunchUrl", (request, reply) =>
    runOnce(request, reply, async () => {
      const { role, displayName } = parseLaunch(parseUntypedBody(request));
      const session = await sessions.get(partnerIdOf(request), idOf(request));
      if (session.status === "destroyed") throw new AppError("session_not_found");
      await appendAudit(store.db, auditEntry(request, "session.launch_url", session.id), clock.now());
      await servers.learn([session]);
      const visitor = { role: role ?? "editor", displayName: displayName ?? null };
      const body = { ...tickets.issueLaunchUrl({ ...session, visitor }, baseUrlOf(session)), ...(role && { role }) };
      // An expired URL is useless, so a retry after that gets a new one.
      return { status: 200, body, staleAt: body.expiresAt };
    }),
  );
}

// The changes that depend on the template of the session.
const LIMIT_FIELDS = ["resources", "egress", "closeConnections"] as const;

function disconnected({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => raw.writableFinished || gone.abort());
  return gone.signal;
}
