import { AppError, type AnswerRun, type RunStarted } from "@berth/contract";
import type { RunAnswer } from "@berth/contract/daemon/runs.ts";
import type { StoredRun } from "../../sessions/runs/runs.ts";
import type { Result } from "../requests/idempotency.ts";

export const toStarted = (status: number, { id, status: runStatus }: StoredRun): Result => ({
  status,
  body: { runId: id, status: runStatus } satisfies RunStarted,
});

export function toAnswer({ itemId, optionId, action, values }: AnswerRun): RunAnswer {
  if ((optionId === undefined) === (action === undefined))
    throw new AppError("validation_failed", { details: [{ field: "optionId", message: "Must have exactly one of optionId and action" }] });
  if (optionId !== undefined) return { itemId, optionId };
  return { itemId, action: action!, ...(values && { values }) };
}
