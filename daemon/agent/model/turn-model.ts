import type { ModelFault } from "./model-fault.ts";

// What a turn knows about its model.
export interface TurnModel {
  hasTools: boolean;
  // Requests that have failed in a row.
  failures: number;
  // Of the last request; null if the model has answered it.
  fault: ModelFault | null;
}

export const newTurnModel = (): TurnModel => ({ hasTools: false, failures: 0, fault: null });
