import { setTimeout as delay } from "node:timers/promises";
import Type from "typebox";
import { AnswerRun, StartRun } from "@berth/contract";
import type { Clock } from "../../../clock.ts";
import { SECOND } from "../../../clock.ts";
import type { Idempotency } from "../../../http/requests/idempotency.ts";
import { auditEntry, partnerIdOf } from "../../../http/routes/route-context.ts";
import { toAnswer, toStarted } from "../../../http/session-format/run-requests.ts";
import { toRun } from "../../../http/session-format/run-view.ts";
import type { Runs, StoredRun } from "../../../sessions/runs/runs.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Store } from "../../../store/open.ts";
import { isFinal } from "../../../store/runs/run.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { jsonResult } from "../results.ts";
import { textOf, type InSession, type Tool, type ToolCall } from "../tool.ts";
import { idempotencyKey, sessionId, waitMs } from "./fields.ts";

export interface RunToolDeps {
  runs: Pick<Runs, "create" | "get" | "interrupt" | "answer">;
  sessions: Pick<Sessions, "onChange">;
  idempotency: Pick<Idempotency, "runCall">;
  store: Store;
  clock: Clock;
}

type OnRun = InSession & { runId: string };
type Started = InSession & StartRun & { idempotencyKey?: string };

const runId = Type.String({ minLength: 1, maxLength: 100, description: "The run, as run_start returns it." });
const POLL_MS = 2 * SECOND;

export function createRunTools({ runs, sessions, idempotency, store, clock }: RunToolDeps): Tool[] {
  const audit = ({ request }: ToolCall, action: string, id: string) => appendAudit(store.db, auditEntry(request, action, id), clock.now());

  // The run when it is over or waits for an answer, or after the given time.
  async function awaitTurn(
    partnerId: string,
    { sessionId: id, runId: run }: OnRun,
    timeMs: number,
    signal: AbortSignal,
  ): Promise<StoredRun> {
    const endMs = performance.now() + timeMs;
    for (;;) {
      using news = nextChange(id);
      const found = await runs.get(partnerId, id, run);
      const leftMs = endMs - performance.now();
      if (isFinal(found.status) || found.status === "needs_input" || leftMs <= 0) return found;
      const waiting = new AbortController();
      const isOver = AbortSignal.any([signal, waiting.signal]);
      await Promise.race([news.changed, delay(Math.min(POLL_MS, leftMs), undefined, { signal: isOver })]).finally(() => waiting.abort());
    }
  }

  function nextChange(id: string): Disposable & { changed: Promise<void> } {
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    const listening = sessions.onChange((session) => session.id === id && resolve());
    return { changed, [Symbol.dispose]: () => listening[Symbol.dispose]() };
  }

  return [
    {
      name: "run_start",
      title: "Give the session's agent a task",
      description:
        "Gives a task to the coding agent in the sandbox, which works on it in the background with its own model. Returns a runId at once; run_status says what has become of it. Not needed to run commands or change files yourself.",
      input: Type.Object({ sessionId, ...StartRun.properties, idempotencyKey }),
      scope: "sessions",
      tokenScope: "runs",
      hints: { destroys: true },
      async call({ sessionId: id, idempotencyKey: key, ...wanted }: Started, { request }) {
        const named = { name: "run_start", key, text: textOf({ id, ...wanted }) };
        const { body } = await idempotency.runCall(request, named, async (save) => {
          const run = await runs.create(partnerIdOf(request), id, wanted, {
            async record(tx, added) {
              await appendAudit(tx, auditEntry(request, "run.create", added.id), clock.now());
              await save?.(tx, toStarted(201, added));
            },
          });
          return toStarted(201, run);
        });
        return jsonResult(body);
      },
    },
    {
      name: "run_status",
      title: "Get a run",
      description:
        "Returns a run: its status, the agent's last message, the files that it has changed, and in waitsFor the questions that it waits for, which run_answer answers. With waitMs the call waits until the run is over or has a question.",
      input: Type.Object({ sessionId, runId, waitMs: waitMs("How long to wait.") }),
      scope: "read",
      tokenScope: "runs",
      hints: { reads: true },
      call: async (input: OnRun & { waitMs?: number }, { request, signal }) =>
        jsonResult(toRun(await awaitTurn(partnerIdOf(request), input, input.waitMs ?? 0, signal))),
    },
    {
      name: "run_answer",
      title: "Answer a question of a run",
      description: "Answers a question in waitsFor of run_status: with optionId for a permission, or with action and values for a form.",
      input: Type.Object({ sessionId, runId, ...AnswerRun.properties }),
      scope: "sessions",
      tokenScope: "runs",
      hints: { destroys: true },
      async call({ sessionId: id, runId: run, ...answer }: OnRun & AnswerRun, call) {
        await runs.answer(partnerIdOf(call.request), id, run, toAnswer(answer));
        await audit(call, "run.answer", run);
        return jsonResult({ answered: true });
      },
    },
    {
      name: "run_interrupt",
      title: "Interrupt a run",
      description: "Stops the agent's work on a run. What it has changed stays.",
      input: Type.Object({ sessionId, runId }),
      scope: "sessions",
      tokenScope: "runs",
      hints: { destroys: true, idempotent: true },
      async call({ sessionId: id, runId: run }: OnRun, call) {
        await runs.interrupt(partnerIdOf(call.request), id, run);
        await audit(call, "run.interrupt", run);
        return jsonResult({ interrupted: true });
      },
    },
  ];
}
