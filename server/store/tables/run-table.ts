import type { RunId } from "@berth/contract";
import type { RunStatus } from "@berth/contract/daemon/runs.ts";

export interface RunsTable {
  id: RunId;
  partner_id: string;
  session_id: string;
  external_user_id: string;
  status: RunStatus;
  // Of the daemon's last report; 0 before the first.
  revision: number;
  // JSON of Pending (runs/run.ts): what the daemon has to learn; null if it knows everything.
  pending: string | null;
  // JSON of RunSummary and RunDetails (runs/run.ts). Lists do without the details.
  summary: string;
  details: string;
  created_at: number;
  started_at: number | null;
  // Set once, when the run is over. Such a row never changes, apart from `pending`.
  ended_at: number | null;
}
