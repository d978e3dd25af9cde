import { idFrom, type RunId } from "@berth/contract";
import { isFinal } from "../../store/runs/run.ts";
import { findRun } from "../../store/runs/read.ts";
import { updateRun } from "../../store/runs/write.ts";
import type { Db } from "../../store/schema.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import { appendRunEvent } from "../states/run-ends.ts";
import { applyReport, type RunChangeNews } from "./run-report.ts";

// Records what a daemon says about a run of its session: the row, and its event. The caller holds the lock of the session. A report that
// comes again, or is older than the row, changes nothing. Returns the id of a run that should not go on in this sandbox, because it is
// over or not of this session, as in a fork.
export async function recordReport(
  tx: Db,
  session: PartnerSession,
  { type, report }: RunChangeNews,
  { entryId, nowMs }: { entryId: string; nowMs: number },
): Promise<RunId | null> {
  const run = await findRun(tx, session.id, report.runId);
  if (!run || run.endedAtMs !== null) return isFinal(report.status) ? null : report.runId;
  const changed = await updateRun(tx, run, applyReport(run, report, nowMs));
  if (changed && type !== "run.continued")
    await appendRunEvent(tx, session, { type, run: changed, at: nowMs, id: idFrom("evt", `${session.sandboxId} ${entryId}`) });
  return null;
}
