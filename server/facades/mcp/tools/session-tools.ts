import Type from "typebox";
import { AppError, CreateSession, MAX_FORKS, SESSION_STATUSES } from "@berth/contract";
import { SECOND, type Clock } from "../../../clock.ts";
import type { Idempotency } from "../../../http/requests/idempotency.ts";
import type { JsonObject } from "../../../http/requests/request-body.ts";
import { createCreateSessions, type CreateSessionsDeps } from "../../../http/routes/create-sessions.ts";
import { createRecordChange } from "../../../http/routes/record-change.ts";
import { partnerIdOf } from "../../../http/routes/route-context.ts";
import { encodeCursor, parseList } from "../../../http/session-format/list-query.ts";
import { toResumed, withDetails } from "../../../http/session-format/session-view.ts";
import type { ServerDirectory } from "../../../sessions/server-directory.ts";
import { jsonResult } from "../results.ts";
import { textOf, type InSession, type Tool, type ToolCall } from "../tool.ts";
import { idempotencyKey, sessionId } from "./fields.ts";

export interface SessionToolDeps extends CreateSessionsDeps {
  idempotency: Pick<Idempotency, "runCall">;
  servers: Pick<ServerDirectory, "learn" | "baseUrlOf">;
  clock: Clock;
}

const { envVars, template, timeoutMs, idleTimeoutMs, metadata, source, setup } = CreateSession.properties;
const DEFAULT_USER = "mcp";
// A client that gives up first would not learn the id of its session.
const SOURCE_WAIT_MS = 40 * SECOND;

export function createSessionTools(deps: SessionToolDeps): Tool[] {
  const { sessions, servers, clock, idempotency } = deps;
  const createSessions = createCreateSessions(deps);
  const recordChange = createRecordChange(clock);

  // A retry with the same key gets the same sessions.
  async function create(name: string, input: JsonObject, call: ToolCall) {
    const { idempotencyKey: key, ...body } = input as JsonObject & { idempotencyKey?: string };
    const named = (suffix: string) => ({ name: `${name}${suffix}`, key, text: textOf(body) });
    const { body: created } = await idempotency.runCall(call.request, named(""), (save) =>
      createSessions(call.request, body, {
        wait: "source",
        isAborted: AbortSignal.any([call.signal, AbortSignal.timeout(SOURCE_WAIT_MS)]),
        save,
        runPart: (part, work) => idempotency.runCall(call.request, named(` part ${part}`), work),
      }),
    );
    return jsonResult(created);
  }

  return [
    {
      name: "session_create",
      title: "Create a session",
      description:
        "Creates a session: an isolated Linux sandbox with a workspace folder, in which the other tools run commands and change files. Returns its sessionId. It takes a second or so, and up to 40 seconds if a repository is fetched; after that, session_get says whether its source is ready. Destroy it with session_destroy when it is no longer needed; by itself it is paused after timeoutMs.",
      input: Type.Object({
        externalUserId: Type.Optional({
          ...CreateSession.properties.externalUserId,
          default: DEFAULT_USER,
          description: "The user that the session is for.",
        }),
        template,
        source,
        setup,
        envVars,
        metadata,
        timeoutMs,
        idleTimeoutMs,
        idempotencyKey,
      }),
      scope: "sessions",
      tokenScope: null,
      call: (input: JsonObject, call) => create("session_create", { autoStartAgent: false, externalUserId: DEFAULT_USER, ...input }, call),
    },
    {
      name: "session_list",
      title: "List sessions",
      description: "Returns sessions with their status, newest first. Pass nextCursor as cursor for the next page.",
      input: Type.Object({
        status: Type.Optional(Type.Enum([...SESSION_STATUSES], { description: "Only sessions with this status." })),
        externalUserId: Type.Optional(Type.String({ description: "Only sessions of this user." })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
        cursor: Type.Optional(Type.String({ description: "The nextCursor of the page before." })),
      }),
      scope: "read",
      tokenScope: null,
      hints: { reads: true },
      async call({ limit = 20, ...query }: { limit?: number }, { request }) {
        const page = await sessions.list(partnerIdOf(request), parseList({ ...query, limit: String(limit) }));
        await servers.learn(page.sessions);
        const data = page.sessions.map((session) => withDetails(servers.baseUrlOf(session), session));
        return jsonResult({ data, nextCursor: page.next && encodeCursor(page.next) });
      },
    },
    {
      name: "session_get",
      title: "Get a session",
      description: "Returns a session: its status (running, paused or destroyed), template, repository, limits and when it expires.",
      input: Type.Object({ sessionId }),
      scope: "read",
      tokenScope: "any",
      hints: { reads: true },
      async call({ sessionId: id }: InSession, { request }) {
        const session = await sessions.get(partnerIdOf(request), id);
        await servers.learn([session]);
        return jsonResult(withDetails(servers.baseUrlOf(session), session));
      },
    },
    {
      name: "session_pause",
      title: "Pause a session",
      description: "Stops a running session and keeps its files and programs. session_resume continues it.",
      input: Type.Object({ sessionId }),
      scope: "sessions",
      tokenScope: null,
      async call({ sessionId: id }: InSession, { request }) {
        const { status } = await sessions.pause(partnerIdOf(request), id, recordChange(request, "session.pause"));
        return jsonResult({ status });
      },
    },
    {
      name: "session_resume",
      title: "Resume a session",
      description: "Continues a paused session.",
      input: Type.Object({ sessionId }),
      scope: "sessions",
      tokenScope: null,
      async call({ sessionId: id }: InSession, { request }) {
        const options = { autoStartAgent: false, ...recordChange(request, "session.resume") };
        const session = await sessions.resume(partnerIdOf(request), id, options);
        return jsonResult(toResumed(servers.baseUrlOf(session), session));
      },
    },
    {
      name: "session_destroy",
      title: "Destroy a session",
      description: "Ends a session and deletes its files for good. Everything that is needed later must be elsewhere before.",
      input: Type.Object({ sessionId }),
      scope: "sessions",
      tokenScope: null,
      hints: { destroys: true, idempotent: true },
      async call({ sessionId: id }: InSession, { request }) {
        const { status } = await sessions.destroy(partnerIdOf(request), id, recordChange(request, "session.destroy"));
        return jsonResult({ status });
      },
    },
    {
      name: "session_fork",
      title: "Fork a session",
      description:
        "Creates sessions that begin with a copy of the files of another one, for example to try something without touching it. Programs that run are not copied. Returns a session or an error for each.",
      input: Type.Object({
        sessionId,
        count: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_FORKS, default: 1, description: "How many." })),
        timeoutMs,
        idempotencyKey,
      }),
      scope: "sessions",
      tokenScope: null,
      async call({ sessionId: id, count = 1, ...more }: InSession & { count?: number }, call) {
        const { externalUserId, status } = await sessions.get(partnerIdOf(call.request), id);
        if (status === "destroyed") throw new AppError("session_not_found");
        const body = { externalUserId, source: { sessionId: id }, count, autoStartAgent: false, ...more };
        return create("session_fork", body, call);
      },
    },
  ];
}
