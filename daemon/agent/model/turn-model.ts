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
