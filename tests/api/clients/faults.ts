import { createHash } from "node:crypto";
import type { Step } from "./journey.ts";

// Faults of a service, and how every client copes with them. The last response repeats.
export interface Fault {
  name: string;
  responses: Response[];
  step: Step;
  // The requests that reach the service.
  requests: number;
  // The headers in which all requests agree.
  same?: string[];
  // A header of each request.
  headers?: Record<string, (string | undefined)[]>;
  path?: string;
  // Far above what the client must wait at least.
  minMs?: number;
}

export interface Response {
  // The connection is closed: at once, or in the middle of the body.
  closes?: "at once" | "in the middle";
  // The response never comes, or comes in drops and never ends.
  hangs?: "at once" | "in drops";
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export const SESSION = { sessionId: "ses_1", sandboxId: "sbx_1", status: "running", sandboxUrl: "", createdAt: "2030-01-01T00:00:00.000Z" };
const USER = 'J\u00fcrgen "\u2028" \u0007 \\ \ud83d\ude80';
const found: Response = { status: 200, body: SESSION };
const get: Step = { call: "berth.sessions.get", args: ["ses_1"] };
const create: Step = { call: "berth.sessions.create", options: { externalUserId: "u" } };
const stream = (...events: object[]): Response => ({
  headers: { "content-type": "text/event-stream" },
  body: `: hello\n\n${events.map((event, at) => `id: evt_${at}\ndata: ${JSON.stringify(event)}\n\n`).join("")}`,
});

// Status, code in the header, body, class.
const ERRORS: [number, string | null, object | string, string][] = [
  [
    400,
    "validation_failed",
    { error: "Validation failed", details: [{ field: "externalUserId", message: "Required" }] },
    "ValidationError",
  ],
  [401, "unauthorized", { error: "Unauthorized" }, "UnauthorizedError"],
  [404, "session_not_found", { error: "Session not found" }, "SessionNotFoundError"],
  [404, "not_found", { error: "Not found" }, "NotFoundError"],
  [404, "not_found", { error: "There is no such file", code: "not_found" }, "FileNotFoundError"],
  [409, "session_already_paused", { error: "Session is already paused" }, "SessionConflictError"],
  [409, "session_quota", { error: "The limit is reached" }, "QuotaError"],
  [418, null, "not even JSON", "BerthError"],
  [429, "rate_limited", { error: "Too many requests" }, "RateLimitError"],
  [501, "internal", { error: "Something went wrong on our side" }, "ServerError"],
];

export const FAULTS: Fault[] = [
  {
    name: "a create whose response is lost is retried with the same idempotency key",
    responses: [{ closes: "at once" }, { status: 201, body: SESSION }],
    step: { ...create, gives: { sessionId: "ses_1" } },
    requests: 2,
    same: ["idempotency-key"],
  },
  { name: "a response that breaks off is retried", responses: [{ closes: "in the middle" }, found], step: get, requests: 2 },
  {
    name: "the caller's idempotency key is used unchanged",
    responses: [{ status: 201, body: SESSION }],
    step: { call: "berth.sessions.create", options: { externalUserId: "u", idempotencyKey: "mine" } },
    requests: 1,
    headers: { "idempotency-key": ["mine"] },
  },
  {
    name: "a retry waits for Retry-After",
    responses: [
      { status: 429, headers: { "retry-after": "1", "x-error-code": "rate_limited" }, body: { error: "Too many requests" } },
      found,
    ],
    step: get,
    requests: 2,
    minMs: 990,
  },
  {
    name: "a Retry-After above the limit is thrown instead of waited for",
    responses: [{ status: 429, headers: { "retry-after": "3600" }, body: { error: "Too many requests" } }],
    step: { ...get, throws: { name: "RateLimitError", status: 429, retryAfterMs: 3_600_000 } },
    requests: 1,
  },
  {
    name: "a command is never sent twice",
    responses: [found, { closes: "at once" }],
    step: { call: "sandbox.exec", args: ["rm -rf build"], throws: { name: "ConnectionError" } },
    requests: 2,
  },
  {
    name: "a call that the service has refused is sent again, also if it is not idempotent",
    responses: [
      found,
      { status: 503, headers: { "retry-after": "0", "x-error-code": "unavailable" }, body: { error: "Later" } },
      { body: '{"type":"stdout","data":"gr\u00fc\u00df dich\u2028\\n"}\n{"type":"later"}\n{"type":"exit","code":3,"signal":null}\n' },
    ],
    step: { call: "sandbox.exec", args: ["greet"], gives: { stdout: "grüß dich\u2028\n", exitCode: 3 } },
    requests: 3,
  },
  {
    name: "a command whose response breaks off is an error",
    responses: [found, { body: '{"type":"stdout","data":"half"}\n' }],
    step: {
      call: "sandbox.exec",
      args: ["long"],
      throws: { name: "ConnectionError", message: "The connection closed before the command exited" },
    },
    requests: 2,
  },
  {
    name: "the last failure is thrown after all retries",
    responses: [{ status: 503, headers: { "retry-after": "0", "x-error-code": "capacity_reached" }, body: { error: "No room" } }],
    step: { ...create, throws: { name: "ServerError", code: "capacity_reached", status: 503, message: "No room" } },
    requests: 4,
  },
  {
    name: "a slow service causes a TimeoutError",
    responses: [{ hangs: "at once" }],
    step: { ...get, call: "impatient.sessions.get", throws: { name: "TimeoutError", code: "timeout" } },
    requests: 1,
  },
  {
    name: "a slow response causes a TimeoutError, even if some of it comes all the time",
    responses: [{ hangs: "in drops" }],
    step: { ...get, call: "impatient.sessions.get", throws: { name: "TimeoutError", code: "timeout" } },
    requests: 1,
  },
  {
    name: "programs in every language get the same session of a user, by one idempotency key",
    responses: [
      { body: { data: [{ ...SESSION, sessionId: "ses_0", status: "destroyed" }], nextCursor: null } },
      { status: 201, body: SESSION },
      found,
    ],
    step: { call: "berth.sessions.forUser", args: [USER], gives: { sessionId: "ses_1" } },
    requests: 3,
    headers: {
      "idempotency-key": [
        undefined,
        `for-user-${createHash("sha256")
          .update(JSON.stringify([USER, "ses_0"]))
          .digest("hex")}`,
        undefined,
      ],
    },
  },
  {
    name: "the API key never follows a redirect",
    responses: [{ status: 307, headers: { location: "http://127.0.0.1:9/" } }],
    step: { ...get, throws: { name: "BerthError", status: 307 } },
    requests: 1,
    headers: { authorization: ["Bearer k"] },
  },
  {
    name: "an id is encoded as a single path segment",
    responses: [found],
    step: { call: "berth.sessions.get", args: ["../keys?x=1"] },
    requests: 1,
    path: "/api/b2b/sessions/..%2Fkeys%3Fx%3D1?expand=details",
  },
  {
    name: "the filters of a list reach the service",
    responses: [{ body: { data: [], nextCursor: null } }],
    step: { call: "berth.sessions.list", options: { status: "running", metadata: { my_plan: "a b" }, pageSize: 1 }, gives: [] },
    requests: 1,
    path: "status=running&limit=1&expand=details&metadata.my_plan=a b",
  },
  {
    name: "the message of a validation error names the fields",
    responses: [{ status: 400, body: { error: "Validation failed", details: [{ field: "timeoutMs", message: "Too small" }] } }],
    step: { ...create, throws: { name: "ValidationError", message: "Validation failed (timeoutMs: Too small)" } },
    requests: 1,
  },
  {
    name: "the agent's answer joins the pieces of its text",
    responses: [
      found,
      stream(
        { type: "conversation", conversation: { id: "c1" } },
        { type: "item", conversationId: "c1", item: { id: "i1", atMs: 1, kind: "thought", text: "hm" } },
        { type: "item", conversationId: "c1", item: { id: "i2", atMs: 2, kind: "assistant", text: "It " } },
        { type: "item", conversationId: "c1", item: { id: "i3", atMs: 3, kind: "hologram", text: "new" } },
        { type: "append", conversationId: "c1", itemId: "i2", text: "works." },
        { type: "turn", conversationId: "c1", stopReason: "end_turn" },
      ),
    ],
    step: {
      call: "sandbox.agent.ask",
      args: ["does it work?"],
      gives: { text: "It works.", conversationId: "c1", stopReason: "end_turn" },
    },
    requests: 2,
  },
  {
    name: "a broken stream of events continues after the last event",
    responses: [stream({ id: "evt_0", type: "session.created", data: { sessionId: "ses_1" } })],
    step: { call: "berth.events.stream", take: 2, gives: [{ id: "evt_0" }, { id: "evt_0" }] },
    requests: 2,
    headers: { "last-event-id": [undefined, "evt_0"] },
  },
  {
    name: "a run whose connection is lost is followed after the last event",
    responses: [
      stream({ type: "append", itemId: "i1", text: "a" }),
      { status: 409, headers: { "x-error-code": "session_paused" }, body: { error: "Paused" } },
      stream({ type: "append", itemId: "i1", text: "b" }, { type: "end", run: { status: "succeeded" } }),
    ],
    step: {
      call: "work.follow",
      gives: [
        { type: "append", text: "a" },
        { type: "append", text: "b" },
        { type: "end", run: { status: "succeeded" } },
      ],
    },
    requests: 3,
    headers: { "last-event-id": [undefined, "evt_0", "evt_0"] },
  },
  ...ERRORS.map(([status, code, body, name]): Fault => ({
    name: `a ${status} with the code ${code} is a ${name}`,
    responses: [{ status, body, headers: code === null ? {} : { "x-error-code": code } }],
    step: { ...get, call: "impatient.sessions.get", throws: { name, status } },
    requests: 1,
  })),
];
