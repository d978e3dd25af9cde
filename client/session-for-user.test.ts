import { expect, test } from "vitest";
import { BerthError, SessionConflictError, SessionNotFoundError } from "./http/errors.ts";
import { sessionForUser } from "./session-for-user.ts";
import type { CreateSession, SessionData, SessionStatus } from "./types/api-types.ts";

interface Stored extends SessionData {
  refresh(): Promise<this>;
  resume(): Promise<this>;
}

// The sessions of one user, in memory, with the service's rules for idempotency keys.
function service() {
  const all: Stored[] = [];
  const replies = new Map<string, { body: string; session: Stored }>();
  const add = (status: SessionStatus): Stored => {
    const session: Stored = {
      sessionId: `ses_${all.length}`,
      sandboxId: "sbx_1",
      sandboxUrl: "https://berth.example/sandboxes/sbx_1",
      createdAt: "2030-01-31T09:30:00.000Z",
      status,
      refresh: async () => session,
      async resume() {
        if (session.status === "destroyed") throw new SessionNotFoundError("gone", { code: "session_not_found" });
        if (session.status === "running") throw new SessionConflictError("runs", { code: "session_already_running" });
        return Object.assign(session, { status: "running" as const });
      },
    };
    all.push(session);
    return session;
  };
  return {
    all,
    add,
    async create(request: CreateSession, { idempotencyKey }: { idempotencyKey: string }) {
      const body = JSON.stringify(request);
      const earlier = replies.get(idempotencyKey);
      if (earlier && earlier.body !== body) throw new BerthError("used", { code: "idempotency_mismatch", status: 422 });
      const session = earlier?.session ?? add("running");
      replies.set(idempotencyKey, { body, session });
      return session;
    },
    async *list() {
      yield* all.map((session) => ({ ...session })).toReversed();
    },
  };
}

test("callers that find no session create one between them, whatever settings they pass", async () => {
  const sessions = service();
  sessions.add("destroyed");
  const found = await Promise.all([{}, {}, { template: "python" }].map((request) => sessionForUser(sessions, "ada", request)));
  expect(found.map(({ sessionId }) => sessionId)).toEqual(["ses_1", "ses_1", "ses_1"]);
});

test("a caller waits for a create of another caller that takes longer than the retries of one request", async () => {
  const sessions = service();
  let refusals = 2;
  const create: typeof sessions.create = async (request, options) => {
    if (refusals-- > 0) throw new SessionConflictError("in flight", { code: "idempotency_in_flight" });
    return sessions.create(request, options);
  };
  expect(await sessionForUser({ ...sessions, create }, "anna")).toBe(sessions.all[0]);
});

test("a paused session is resumed, also if another caller is faster", async () => {
  const sessions = service();
  const paused = sessions.add("paused");
  expect(await sessionForUser(sessions, "ada")).toMatchObject({ sessionId: "ses_0", status: "running" });
  const stale = {
    ...sessions,
    list: async function* () {
      yield { ...paused, status: "paused" as const };
    },
  };
  expect(await sessionForUser(stale, "ada")).toMatchObject({ sessionId: "ses_0", status: "running" });
});

test("a session that is destroyed between the list and the create is not returned", async () => {
  const sessions = service();
  let isFirst = true;
  const racing = {
    ...sessions,
    async create(request: CreateSession, options: { idempotencyKey: string }) {
      const session = await sessions.create(request, options);
      if (isFirst) session.status = "destroyed";
      isFirst = false;
      return session;
    },
  };
  expect(await sessionForUser(racing, "ada")).toMatchObject({ sessionId: "ses_1", status: "running" });
});
