import type { Run } from "@berth/contract/daemon/runs.ts";
import type { ModelBudget } from "../model/turn-model.ts";

export interface BudgetDeps {
  run: Run;
  onExceeded: (reason: "max_turns" | "max_tokens", message: string) => void;
}

// Counts a run's requests to the model and their tokens in the run itself.
export function createBudget({ run, onExceeded }: BudgetDeps): ModelBudget {
  const { maxTurns, maxTokens } = run;

  return {
    hasLimits: maxTurns !== null || maxTokens !== null,
    refusal: () => exceeded()?.message ?? null,
    onRefused() {
      const limit = exceeded();
      if (limit) onExceeded(limit.reason, limit.message);
    },
    onSent: () => void run.turns++,
    onUsage({ input, output }) {
      run.tokens = { input: (run.tokens?.input ?? 0) + input, output: (run.tokens?.output ?? 0) + output };
    },
  };

  function exceeded(): { reason: "max_turns" | "max_tokens"; message: string } | null {
    const used = (run.tokens?.input ?? 0) + (run.tokens?.output ?? 0);
    if (maxTurns !== null && run.turns >= maxTurns)
      return { reason: "max_turns", message: `The run has reached its limit of ${maxTurns} requests to the model (maxTurns).` };
    if (maxTokens !== null && used >= maxTokens)
      return { reason: "max_tokens", message: `The run has reached its limit of ${maxTokens} tokens (maxTokens); it has used ${used}.` };
    return null;
  }
}
