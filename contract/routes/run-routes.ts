import Type from "typebox";
import { AnswerRun, Run, RUN_STATUSES, RunEvent, RunList, RunMessage, RunStarted, StartRun } from "../schemas/run/run.ts";
import { header, query, route } from "./route.ts";

// A call that reaches the sandbox of a session.
const SANDBOX_CALL = [
  "session_not_found",
  "session_paused",
  "session_elsewhere",
  "sandbox_failed",
  "sandbox_unreachable",
  "capacity_reached",
  "engine_unavailable",
  "session_resuming",
  "sandbox_timeout",
] as const;
const BODY = ["validation_failed", "body_too_large", "unsupported_media_type"] as const;
const RUN = "/api/b2b/sessions/{id}/runs/{runId}";

export const RUN_ROUTES = {
  createRun: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/runs",
    tag: "Runs",
    tokenScope: "runs",
    summary: "Start a run",
    description:
      "Lets the session's agent work on a prompt. The run goes on without its caller. The events `run.started`, `run.needs_input` and `run.finished` say what becomes of it. It waits until the setup of the session is over. A paused session is resumed if it has `autoResume`.",
    body: { schema: StartRun, required: true },
    idempotent: true,
    success: { status: 201, description: "The run is recorded and will begin.", schema: RunStarted },
    errors: [...SANDBOX_CALL, ...BODY, "run_quota"],
  }),
  listRuns: route({
    method: "GET",
    path: "/api/b2b/sessions/{id}/runs",
    tag: "Runs",
    tokenScope: "runs",
    summary: "List runs",
    description:
      "Returns the runs of a session, newest first, as they were last reported. Runs that ended more than 30 days ago are forgotten.",
    query: [
      query("status", "Returns only runs with this status.", Type.Enum([...RUN_STATUSES])),
      query("limit", "The maximum number of runs to return.", Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      query("cursor", "The `nextCursor` of the previous page.", Type.String()),
    ],
    success: { status: 200, description: "A page of runs.", schema: RunList },
    errors: ["validation_failed", "session_not_found"],
  }),
  getRun: route({
    method: "GET",
    path: RUN,
    tag: "Runs",
    tokenScope: "runs",
    summary: "Get a run",
    description:
      "Returns a run with the agent's last message, the changed files and what it waits for. It is up to date if the session is running; a paused session is not resumed.",
    success: { status: 200, description: "The run.", schema: Run },
    errors: ["session_not_found", "run_not_found"],
  }),
  followRun: route({
    method: "GET",
    path: `${RUN}/events`,
    tag: "Runs",
    tokenScope: "runs",
    scope: "sessions",
    summary: "Follow a run",
    description:
      "Streams the conversation of a run until its end as server-sent events. After a lost connection, the header `Last-Event-ID` continues after that event without a gap or a repetition, or begins again with `items`. Reading does not resume a paused session and does not keep it from its idle pause.",
    query: [header("Last-Event-ID", "The `id:` of the last event that was received.")],
    success: {
      status: 200,
      description: "The events.",
      lines: { media: "text/event-stream", schema: RunEvent },
      also: [{ status: 204, description: "The run is over, and `Last-Event-ID` is its last event." }],
    },
    errors: ["session_not_found", "run_not_found", "session_paused", "run_waiting", "session_elsewhere", "sandbox_unreachable"],
  }),
  sendRunMessage: route({
    method: "POST",
    path: `${RUN}/messages`,
    tag: "Runs",
    tokenScope: "runs",
    summary: "Send a message to a run",
    description: "Adds a prompt, which the agent gets after the turn in progress. A paused session is resumed if it has `autoResume`.",
    body: { schema: RunMessage, required: true },
    idempotent: true,
    success: { status: 202, description: "The message is queued.", schema: RunStarted },
    errors: [...SANDBOX_CALL, ...BODY, "run_not_found", "run_ended", "run_waiting"],
  }),
  interruptRun: route({
    method: "POST",
    path: `${RUN}/interrupt`,
    tag: "Runs",
    tokenScope: "runs",
    summary: "Interrupt a run",
    description:
      "Stops a run, which then ends as `interrupted`. No-op if it is over. A paused session is resumed if it has `autoResume`. A request body is ignored.",
    success: { status: 204, description: "The run stops, or is over." },
    errors: [...SANDBOX_CALL, "run_not_found", "body_too_large"],
  }),
  answerRun: route({
    method: "POST",
    path: `${RUN}/answer`,
    tag: "Runs",
    tokenScope: "runs",
    summary: "Answer a question of a run",
    description: "Answers one of the questions in `waitsFor`. A paused session is resumed if it has `autoResume`.",
    body: { schema: AnswerRun, required: true },
    success: { status: 204, description: "The agent has the answer." },
    errors: [...SANDBOX_CALL, ...BODY, "bad_request", "run_not_found", "run_ended", "run_waiting", "agent_answered"],
  }),
} as const;
