import { isRunId, RUN_STATUSES, type FieldFault, type Run, type RunSummary } from "@berth/contract";
import type { RunListFilter } from "../../sessions/runs/runs.ts";
import type { ListedRun, StoredRun } from "../../store/runs/run.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { decodePosition, parseLimit, single, type Query } from "./list-query.ts";

// How a run is sent to partners.

export const toRun = (run: StoredRun): Run => ({ ...toRunSummary(run), ...run.details });

export const toRunSummary = (run: ListedRun): RunSummary => ({
  runId: run.id,
  sessionId: run.sessionId,
  status: run.status,
  ...run.summary,
  createdAt: new Date(run.createdAtMs).toISOString(),
  startedAt: isoOf(run.startedAtMs),
  endedAt: isoOf(run.endedAtMs),
});

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

export function parseRunQuery(query: Query): RunListFilter {
  const faults: FieldFault[] = [];
  const limit = parseLimit(query, faults);
  const status = single(query, "status", faults);
  const known = RUN_STATUSES.find((one) => one === status);
  if (status !== undefined && !known) faults.push({ field: "status", message: `Must be one of ${RUN_STATUSES.join(", ")}` });
  const cursor = single(query, "cursor", faults);
  const after = cursor === undefined ? null : decodePosition(cursor);
  if (cursor !== undefined && !(after && isRunId(after.id)))
    faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  requireNoFaults(faults);
  return { limit, ...(known && { status: known }), ...(after && { after }) };
}
