import type { FastifyRequest } from "fastify";
import { newId, type RunStarted } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Runs } from "../../sessions/runs/runs.ts";
import type { ServerDirectory } from "../../sessions/server-directory.ts";
import type { ChangeOptions, Sessions, SessionView } from "../../sessions/sessions.ts";
import { awaitSource } from "../../sessions/setup/await-source.ts";
import type { SessionFiles, Snapshots } from "../../sessions/snapshots/snapshots.ts";
import type { Templates } from "../../templates.ts";
import type { Result, Save } from "../requests/idempotency.ts";
import type { JsonObject } from "../requests/request-body.ts";
import { filesFrom, parseCreate } from "../session-format/session-requests.ts";
import { toSession } from "../session-format/session-view.ts";
import { forkSessions, type RunPart } from "./fork-sessions.ts";
import { createRecordChange } from "./record-change.ts";
import { partnerIdOf } from "./route-context.ts";

export interface CreateSessionsDeps {
  sessions: Sessions;
  snapshots: Pick<Snapshots, "templateOf" | "withFiles">;
  runs: Pick<Runs, "createIn" | "deliver">;
  templates: Pick<Templates, "get">;
  servers: Pick<ServerDirectory, "baseUrlOf">;
  clock: Clock;
}

export interface CreateOptions {
  wait: "source" | "sandbox";
  // Ends the wait for the source.
  isAborted: AbortSignal;
  // Stores the result for a retry.
  save: Save | undefined;
  runPart: RunPart;
}

// Creates what a body of the route `createSession` asks for: a session, or several from the same files.
export type CreateSessions = (request: FastifyRequest, body: JsonObject, options: CreateOptions) => Promise<Result>;

export function createCreateSessions({ sessions, snapshots, runs, templates, servers, clock }: CreateSessionsDeps): CreateSessions {
  const recordChange = createRecordChange(clock);

  return async (request, body, { wait, isAborted, save: saveAll, runPart }) => {
    const source = filesFrom(body);
    const sourceTemplate = source && (await snapshots.templateOf(partnerIdOf(request), source));
    const { request: createRequest, from, count, run: runRequest } = parseCreate(body, templates, sourceTemplate);
    const createOne = async (save?: Save, files?: SessionFiles) => {
      const run = runRequest && { id: newId("run", clock.now()), request: runRequest };
      const started = run && { run: { runId: run.id, status: "queued" } satisfies RunStarted };
      const toResult = (session: SessionView): Result => ({
        status: 201,
        body: { ...toSession(servers.baseUrlOf(session), session), ...started },
      });
      const { span, record } = recordChange(request, "session.create", save, toResult);
      const options: ChangeOptions = {
        span,
        async record(tx, session) {
          if (run) await runs.createIn(tx, session, run);
          await record?.(tx, session);
        },
      };
      const session = await sessions.create(request.principal.partner, { ...createRequest, ...(files && { files }) }, options);
      if (run) runs.deliver(session);
      if (wait === "source") await awaitSource(sessions, session, isAborted);
      return toResult(session);
    };
    if (!from) return createOne(saveAll);
    return snapshots.withFiles(partnerIdOf(request), from, (files) => {
      if (count === null) return createOne(saveAll, files);
      return forkSessions(count, runPart, (save) => createOne(save, files));
    });
  };
}
