import type { Selectable } from "kysely";
import type { RunId } from "@berth/contract";
import type { Run, RunStatus, StartRun } from "@berth/contract/daemon/runs.ts";
import type { RunsTable } from "../tables/run-table.ts";

// A run as the server knows it: what was asked for, and the daemon's last report.
export interface StoredRun extends ListedRun {
  details: RunDetails;
}

export interface ListedRun {
  id: RunId;
  partnerId: string;
  sessionId: string;
  externalUserId: string;
  status: RunStatus;
  revision: number;
  summary: RunSummary;
  createdAtMs: number;
  startedAtMs: number | null;
  // null: it is not over.
  endedAtMs: number | null;
}

export type RunSummary = Pick<
  Run,
  | "conversationId"
  | "reason"
  | "code"
  | "message"
  | "prompt"
  | "mode"
  | "model"
  | "maxTurns"
  | "maxTokens"
  | "timeoutMs"
  | "fileCount"
  | "turns"
  | "tokens"
  | "cost"
  | "waitingMessages"
>;

export type RunDetails = Pick<Run, "permissions" | "text" | "files" | "waitsFor">;

// News for the daemon: there is a run, or it is over.
export type Pending = { start: StartRun } | "interrupt";

const FINAL: readonly RunStatus[] = ["succeeded", "failed", "interrupted", "lost"];
export const isFinal = (status: RunStatus): boolean => FINAL.includes(status);

export const LIST_COLUMNS = [
  "id",
  "partner_id",
  "session_id",
  "external_user_id",
  "status",
  "revision",
  "summary",
  "created_at",
  "started_at",
  "ended_at",
] as const satisfies (keyof RunsTable)[];

export type ListedRow = Pick<Selectable<RunsTable>, (typeof LIST_COLUMNS)[number]>;

export const parseListed = (row: ListedRow): ListedRun => ({
  id: row.id,
  partnerId: row.partner_id,
  sessionId: row.session_id,
  externalUserId: row.external_user_id,
  status: row.status,
  revision: row.revision,
  summary: JSON.parse(row.summary) as RunSummary,
  createdAtMs: row.created_at,
  startedAtMs: row.started_at,
  endedAtMs: row.ended_at,
});

export const parseRun = (row: Selectable<RunsTable>): StoredRun => ({
  ...parseListed(row),
  details: JSON.parse(row.details) as RunDetails,
});
