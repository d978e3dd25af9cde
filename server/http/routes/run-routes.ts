import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AnswerRun, AppError, idFrom, newId, RunMessage, StartRun, type RunList } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Runs, RunStream, StoredRun } from "../../sessions/runs/runs.ts";
import type { Store } from "../../store/open.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { Idempotency } from "../requests/idempotency.ts";
import { parseRequiredBody } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { toPage, type Query } from "../session-format/list-query.ts";
import { toAnswer, toStarted } from "../session-format/run-requests.ts";
import { parseRunQuery, toRun, toRunSummary } from "../session-format/run-view.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface RunRouteDeps {
  runs: Runs;
  // Sends the response of a daemon to the caller. Rejects if nothing was sent. `onUnknown` replies instead of a daemon that answers 404.
  relayStream(request: IncomingMessage, response: ServerResponse, stream: RunStream & { onUnknown: () => void }): Promise<void>;
  idempotency: Idempotency;
  store: Store;
  clock: Clock;
}

const findStartFaults = compileFaultFinder(StartRun);
const findMessageFaults = compileFaultFinder(RunMessage);
const findAnswerFaults = compileFaultFinder(AnswerRun);

export function addRunRoutes(app: FastifyInstance, { runs, relayStream, idempotency: { runOnce }, store, clock }: RunRouteDeps): void {
  const of = (request: FastifyRequest) => [partnerIdOf(request), idOf(request), runIdOf(request)] as const;
  const audit = (request: FastifyRequest, action: string) =>
    appendAudit(store.db, auditEntry(request, action, runIdOf(request)), clock.now());
  const streams = new Set<ServerResponse>();
  app.addHook("preClose", async () => streams.forEach((response) => response.destroy()));

  addRoute(app, "createRun", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const body = parseRequiredBody(request, StartRun);
      requireNoFaults(findStartFaults(body));
      const run = await runs.create(partnerIdOf(request), idOf(request), body as StartRun, {
        async record(tx, added) {
          await appendAudit(tx, auditEntry(request, "run.create", added.id), clock.now());
          await save?.(tx, toStarted(201, added));
        },
      });
      return toStarted(201, run);
    }),
  );

  addRoute(app, "listRuns", async (request): Promise<RunList> => {
    const { limit, ...filter } = parseRunQuery(request.query as Query);
    // One more than the page holds shows whether there is a next page.
    const found = await runs.list(partnerIdOf(request), idOf(request), { ...filter, limit: limit + 1 });
    return toPage(found, limit, toRunSummary);
  });

  addRoute(app, "getRun", async (request) => toRun(await runs.get(...of(request))));

  addRoute(app, "followRun", async (request, reply) => {
    const { run, stream } = await runs.find(...of(request));
    const response = reply.raw;
    response.setHeader("x-request-id", request.id);
    if (stream) {
      streams.add(response);
      response.once("close", () => streams.delete(response));
      const onUnknown = () => {
        if (run.endedAtMs === null) throw new AppError("run_not_found");
        sendEnd(request, response, run);
      };
      await relayStream(request.raw, response, { ...stream, onUnknown });
    } else sendEnd(request, response, run);
    return reply.hijack();
  });

  addRoute(app, "sendRunMessage", (request, reply) =>
    runOnce(request, reply, async () => {
      const body = parseRequiredBody(request, RunMessage);
      requireNoFaults(findMessageFaults(body));
      const { prompt, attachments } = body as RunMessage;
      const message = { id: messageIdOf(request, clock), prompt, ...(attachments && { attachments }) };
      const run = await runs.message(...of(request), message);
      await audit(request, "run.message");
      return toStarted(202, run);
    }),
  );

  addRoute(app, "interruptRun", async (request, reply) => {
    await runs.interrupt(...of(request));
    await audit(request, "run.interrupt");
    return reply.code(204).send();
  });

  addRoute(app, "answerRun", async (request, reply) => {
    const body = parseRequiredBody(request, AnswerRun);
    requireNoFaults(findAnswerFaults(body));
    await runs.answer(...of(request), toAnswer(body as AnswerRun));
    await audit(request, "run.answer");
    return reply.code(204).send();
  });
}

const runIdOf = (request: FastifyRequest): string => (request.params as { runId: string }).runId;

// A request that is repeated after a crash has the same id, and the daemon ignores it.
function messageIdOf(request: FastifyRequest, clock: Clock): string {
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") return newId("msg", clock.now());
  const bodyHash = createHash("sha256")
    .update(request.rawBody ?? "")
    .digest("hex");
  return idFrom("msg", [partnerIdOf(request), runIdOf(request), bodyHash, key].join("\n"));
}

// The only event that is left when the daemon of an ended run cannot be asked.
function sendEnd(request: FastifyRequest, response: ServerResponse, run: StoredRun): void {
  const hasIt = request.headers["last-event-id"] === END_ID;
  const headers = { "cache-control": "no-store", ...(!hasIt && { "content-type": "text/event-stream" }) };
  response.writeHead(hasIt ? 204 : 200, headers);
  response.end(hasIt ? undefined : `id: ${END_ID}\ndata: ${JSON.stringify({ type: "end", run: toRun(run) })}\n\n`);
}

const END_ID = "end";
