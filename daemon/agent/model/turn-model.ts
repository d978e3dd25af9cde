import type { TokenUsage } from "@berth/contract/model/usage-meter.ts";
import type { ModelFault } from "./model-fault.ts";

// The model requests of one turn, as far as they have been seen.
export interface TurnModel {
  hasTools: boolean;
  // Requests that have failed in a row.
  failures: number;
  // The fault of the last request; null if the model has answered it.
  fault: ModelFault | null;
}

export const newTurnModel = (): TurnModel => ({ hasTools: false, failures: 0, fault: null });

// Counts the requests of a run to the model, and ends them at its limits.
export interface ModelBudget {
  readonly hasLimits: boolean;
  // Why the next request is refused; null if it is not.
  refusal(): string | null;
  // A request that may use tools was refused, or sent.
  onRefused(): void;
  onSent(): void;
  onUsage(usage: TokenUsage): void;
}
