import type { RunQuestion } from "@berth/contract/daemon/runs.ts";
import { afterEach, expect } from "vitest";
import type { Databases } from "../../../tests/support/databases/stores.ts";
import { eventsAfter } from "../../store/events.ts";
import { findRun } from "../../store/runs/read.ts";
import { scriptRuns, type ScriptedRuns } from "./scripted-runs.ts";
import { aRequest, openTestSessions, type TestSessions } from "./test-sessions.ts";

export const question: RunQuestion = {
  itemId: "item_1",
  kind: "permission",
  title: "Run\u001b[2J npm test?",
  tool: { kind: "shell", title: "npm test", input: '{"command":"npm test"}' },
  options: [{ id: "yes", name: "Allow", kind: "allow_once" }],
};

// Sessions whose daemons are scripted, for each test of a file that opens them.
export function useTestRuns(databases: Databases) {
  const current = {} as { services: TestSessions; daemon: ScriptedRuns };
  afterEach(() => current.services[Symbol.asyncDispose]());

  async function open(options: Parameters<typeof openTestSessions>[0] = {}) {
    const daemon = scriptRuns();
    const services = await openTestSessions({ ...options, wrapLinks: daemon.wrapLinks, databaseUrl: (await databases.create()).url });
    Object.assign(current, { services, daemon });
    await services.start();
    const session = await services.sessions.create(services.acme, aRequest());
    return { ...services, session, id: session.id };
  }
  const start = (id: string, prompt = "Fix it") => current.services.runs.create("acme", id, { prompt });
  const delivered = (runId: string) => expect.poll(() => current.daemon.calls.some(({ body }) => body?.id === runId)).toBe(true);
  const startDelivered = async (id: string) => {
    const run = await start(id);
    await delivered(run.id);
    return run;
  };
  const runEvents = async () =>
    (await eventsAfter(current.services.store.db, "acme", 0, 5000))
      .filter(({ type }) => type.startsWith("run."))
      .map(({ type, data }) => ({ type, ...data }) as { type: string; runId: string } & Record<string, unknown>);
  const rowOf = (id: string, runId: string) => findRun(current.services.store.db, id, runId);
  return { current, open, start, startDelivered, runEvents, rowOf };
}
