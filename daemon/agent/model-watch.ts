import type { ModelWait } from "@berth/contract/agent.ts";
import { ERRORS } from "@berth/contract/errors.ts";
import type { Thread, Turn, TurnRun } from "./thread.ts";
import type { ModelCall, ModelCallObserver } from "./model/model-forwarder.ts";
import type { TurnModel } from "./model/turn-model.ts";

export interface ModelWatchDeps {
  // The conversations with a turn in progress.
  threads: () => Thread[];
  // The model has failed as often as we let the agent try.
  onGiveUp: (thread: Thread, turn: Turn) => void;
}

// Agents retry for minutes, and opencode without end.
const MAX_ATTEMPTS = 5;
const SLOW_AFTER_MS = 2000;

export interface ModelWatch {
  observer: ModelCallObserver;
  // Begins the answers that the agent waits for in this turn, so that it notices a cancellation.
  beginAnswers(turn: Turn): void;
}

// Knows for every turn whether its last request to the model has failed, and shows a person why the turn waits.
export function createModelWatch({ threads, onGiveUp }: ModelWatchDeps): ModelWatch {
  const calls = new Map<ModelCall, { thread: Thread; turn: Turn; slow: NodeJS.Timeout }>();
  // The runs that pay for a call. They outlive the turn, because its last answer may end later.
  const payers = new WeakMap<ModelCall, TurnRun[]>();

  const observer: ModelCallObserver = {
    refusal: (call) => payersOf(call).flatMap((run) => run.refusal() ?? [])[0] ?? null,
    sent(call, { wasRefused }) {
      if (!call.hasTools) return;
      for (const run of payersOf(call)) if (wasRefused && run.refusal() !== null) run.onRefused();
      if (!wasRefused) for (const run of payersOf(call)) run.onSent();
    },
    used(call, usage) {
      for (const run of payersOf(call)) run.onUsage(usage);
    },
    begin(call) {
      const thread = threadOf(call);
      // If it is not known whose request it is, it counts for all that have limits.
      const turns = thread ? [thread] : threads().filter(({ turn }) => turn?.run?.hasLimits);
      payers.set(
        call,
        turns.flatMap(({ turn }) => turn?.run ?? []),
      );
      if (!thread?.turn) return;
      const { turn } = thread;
      const slow = setTimeout(() => {
        if (thread.turn === turn && !turn.model.fault) thread.live.changeHead({ modelWait: { code: "model_slow" } });
      }, SLOW_AFTER_MS);
      calls.set(call, { thread, turn, slow });
      if (turn.model.fault) thread.live.changeHead({ modelWait: nextAttempt(turn.model) });
    },
    answer(call) {
      const entry = calls.get(call);
      if (!entry) return;
      clearTimeout(entry.slow);
      if (entry.thread.turn === entry.turn && isOfTurn(call, entry.turn)) entry.thread.live.changeHead({ modelWait: null });
    },
    end(call, fault) {
      const entry = calls.get(call);
      calls.delete(call);
      if (!entry) return;
      clearTimeout(entry.slow);
      const { thread, turn } = entry;
      if (thread.turn !== turn || !isOfTurn(call, turn)) return;
      const before = call.hasTools && !turn.model.hasTools ? 0 : turn.model.failures;
      turn.model = { hasTools: turn.model.hasTools || call.hasTools, failures: fault ? before + 1 : 0, fault };
      const isLast = turn.model.failures >= MAX_ATTEMPTS;
      // After other faults few agents try again, so the next request shows whether this one does.
      const mayRetry = fault !== null && !isLast && ERRORS[fault.code].retryable;
      thread.live.changeHead({ modelWait: mayRetry ? nextAttempt(turn.model) : null });
      if (isLast) onGiveUp(thread, turn);
    },
    drop(call) {
      clearTimeout(calls.get(call)?.slow);
      calls.delete(call);
    },
  };
  return {
    observer,
    beginAnswers(turn) {
      for (const [call, entry] of calls) if (entry.turn === turn) call.beginAnswer();
    },
  };

  function payersOf(call: ModelCall): TurnRun[] {
    return payers.get(call) ?? [];
  }

  // Agents name their session in a header. Without it, the only turn in progress has sent the request.
  function threadOf({ headers }: ModelCall): Thread | undefined {
    const values = new Set(Object.values(headers).flat());
    const active = threads();
    return active.find(({ sessionId }) => sessionId !== null && values.has(sessionId)) ?? (active.length === 1 ? active[0] : undefined);
  }
}

function nextAttempt({ fault, failures }: TurnModel): ModelWait | null {
  return fault && { code: fault.code, attempt: failures + 1, attempts: MAX_ATTEMPTS };
}

// A request for a title says nothing about the turn, unless its agent offers no tools at all.
const isOfTurn = (call: ModelCall, { model }: Turn) => call.hasTools || !model.hasTools;
