import type { StopReason } from "@berth/contract/agent.ts";
import { isAppError } from "@berth/contract/errors.ts";
import type { LiveConversation } from "../conversations/conversation.ts";
import type { Turn } from "../thread.ts";

// How a turn has ended. `code` and `message` say why it failed.
export interface TurnEnd {
  stopReason: StopReason;
  code?: string;
  message?: string;
}

// `outcome` is the agent's own answer or its error. An agent whose model fails may say that all is well, or that a person must sign
// in. The daemon has seen the failed request and knows better.
export function turnEnd({ cancelled, model: { fault } }: Turn, outcome: StopReason | Error, explain: (error: Error) => string): TurnEnd {
  if (cancelled) return { stopReason: "cancelled" };
  if (fault && (outcome instanceof Error || outcome === "end_turn" || outcome === "cancelled"))
    return { stopReason: "error", code: fault.code, message: fault.text };
  if (!(outcome instanceof Error)) return { stopReason: outcome };
  const code = isAppError(outcome) ? outcome.code : "agent_failed";
  return { stopReason: "error", code, message: explain(outcome) };
}

export function showTurnEnd(live: LiveConversation, { model: { fault } }: Turn, { stopReason, code, message: text }: TurnEnd): void {
  if (stopReason === "cancelled") live.add({ kind: "notice", level: "info", text: "Cancelled" });
  if (text === undefined) return;
  const notice = { kind: "notice", level: "error", text, ...(code === undefined ? {} : { code }) } as const;
  const last = [...live.items.values()].at(-1);
  live.endText();
  // The model has said nothing since its fault, so a later text is the agent's own description of it.
  if (fault && last?.kind === "assistant" && last.atMs >= fault.atMs) live.replace({ id: last.id, atMs: last.atMs, ...notice });
  else live.add(notice);
}
