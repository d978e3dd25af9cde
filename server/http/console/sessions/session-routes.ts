import type { FastifyRequest } from "fastify";
import { AppError, UpdateSession, type EgressLog } from "@berth/contract";
import {
  SESSION_ACTIONS,
  type ConsoleList,
  type ConsoleOpening,
  type ConsoleSessionDetail,
  type SessionAction,
} from "@berth/contract/console.ts";
import type { ChangeOptions, Sessions } from "../../../sessions/sessions.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { openingsOf, type Opening } from "../../../store/session-logs/openings.ts";
import { spanOf } from "../../../tracing/span.ts";
import { parseRequiredBody } from "../../requests/request-body.ts";
import type { Query } from "../../session-format/list-query.ts";
import { readEgressLog } from "../../session-format/egress-log.ts";
import { parseUpdate } from "../../session-format/session-requests.ts";
import type { Access } from "../access/access.ts";
import type { ConsoleRoute } from "../console-api.ts";
import { readSessionDetail, requireSession, type SessionDetailDeps } from "./session-detail.ts";
import { readSessionList } from "./session-list.ts";

export interface SessionRouteDeps extends SessionDetailDeps {
  sessions: Sessions;
}

export function sessionRoutes(deps: SessionRouteDeps): ConsoleRoute[] {
  const { store, clock, sessions } = deps;

  // The calls of the partner API, with the person at the console in the audit log.
  async function act(action: SessionAction, access: Access, request: FastifyRequest): Promise<void> {
    const { id, partner_id: partnerId } = await requireSession(store, access.partnerId, idOf(request));
    const options: ChangeOptions = {
      span: spanOf(request.raw),
      record: (tx) => appendAudit(tx, access.auditEntry(`session.${action === "extend" ? "update" : action}`, partnerId, id), clock.now()),
    };
    if (action === "pause") await sessions.pause(partnerId, id, options);
    else if (action === "resume") await sessions.resume(partnerId, id, { ...options, autoStartAgent: true });
    else if (action === "destroy") await sessions.destroy(partnerId, id, options);
    else await sessions.update(partnerId, id, parseExtend(request), options);
  }

  return [
    { method: "GET", path: "/sessions", handle: ({ partnerId }, request) => readSessionList(store, partnerId, request.query as Query) },
    { method: "GET", path: "/sessions/:id", handle: (access, request) => readSessionDetail(deps, access, idOf(request)) },
    {
      method: "GET",
      path: "/sessions/:id/openings",
      async handle({ viewer, partnerId }, request): Promise<ConsoleList<ConsoleOpening>> {
        const { id } = await requireSession(store, partnerId, idOf(request));
        // A partner learns that support looked, but not who and from where.
        const isHidden = ({ role }: Opening) => viewer.kind === "partner" && role === "support";
        const openings = (await openingsOf(store.db, id)).map((one) => (isHidden(one) ? { ...one, address: "", agent: "" } : one));
        return { data: openings.map(toConsoleOpening), nextCursor: null };
      },
    },
    {
      method: "GET",
      path: "/sessions/:id/egress",
      async handle({ partnerId }, request): Promise<EgressLog> {
        return readEgressLog(store.db, (await requireSession(store, partnerId, idOf(request))).id);
      },
    },
    ...SESSION_ACTIONS.map((action): ConsoleRoute => ({
      method: "POST",
      path: `/sessions/:id/${action}`,
      async handle(access, request): Promise<ConsoleSessionDetail> {
        await act(action, access, request);
        return readSessionDetail(deps, access, idOf(request));
      },
    })),
  ];
}

// The time that a session has left from now on.
function parseExtend(request: FastifyRequest): { timeoutMs: number } {
  const { timeoutMs } = parseUpdate(parseRequiredBody(request, UpdateSession));
  if (timeoutMs === undefined) throw new AppError("validation_failed", { details: [{ field: "timeoutMs", message: "Required" }] });
  return { timeoutMs };
}

const toConsoleOpening = ({ openedAt, endedAt, address, agent, role, name }: Opening): ConsoleOpening => ({
  openedAt: new Date(openedAt).toISOString(),
  endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
  address,
  agent,
  role,
  name,
});

const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
