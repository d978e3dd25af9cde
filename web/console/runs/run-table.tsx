import type { ConsoleRun } from "@berth/contract/console.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { count, dateTime, duration, relative, shortId } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { Mark, type Tint } from "../parts/status.tsx";

interface Props {
  rows: readonly ConsoleRun[];
  empty: string;
  // Columns that the page does not say already.
  more?: readonly Column<ConsoleRun>[];
}

export const RunTable = ({ rows, empty, more = [] }: Props) => (
  <DataTable
    label="Runs"
    rows={rows}
    keyOf={({ runId }) => runId}
    empty={empty}
    columns={[
      {
        name: "Run",
        value: ({ runId }) => (
          <span className="mono nowrap" title={runId}>
            {shortId(runId)}
          </span>
        ),
      },
      { name: "Status", value: (run) => <RunStatus run={run} /> },
      {
        name: "Prompt",
        value: (run) => (
          <span className="clipped" title={run.prompt}>
            {run.prompt}
          </span>
        ),
      },
      ...more,
      {
        name: "Created",
        value: ({ createdAt }) => (
          <span className="nowrap" title={dateTime(createdAt)}>
            {relative(createdAt)}
          </span>
        ),
      },
      { name: "Duration", isNumber: true, value: durationOf },
      { name: "Tokens", isNumber: true, value: ({ tokens }) => (tokens ? count(tokens.input + tokens.output) : "–") },
    ]}
  />
);

export const userColumn: Column<ConsoleRun> = {
  name: "User",
  value: ({ externalUserId }) => (
    <Link to={["runs"]} query={{ user: externalUserId }}>
      {externalUserId}
    </Link>
  ),
};

export const partnerColumn: Column<ConsoleRun> = {
  name: "Partner",
  value: ({ partnerId }) => <Link to={["partners", partnerId]}>{partnerId}</Link>,
};

export const sessionColumn: Column<ConsoleRun> = {
  name: "Session",
  value: ({ sessionId }) => (
    <Link className="nowrap" to={["sessions", sessionId]}>
      {shortId(sessionId)}
    </Link>
  ),
};

const TINTS: Record<ConsoleRun["status"], Tint> = {
  queued: "none",
  running: "good",
  needs_input: "warn",
  succeeded: "good",
  failed: "bad",
  interrupted: "warn",
  lost: "bad",
};

// The status, and why the run ended so.
function RunStatus({ run: { status, reason, code, message } }: { run: ConsoleRun }) {
  const why = code ?? (reason === "error" ? null : reason);
  return (
    <div title={message ?? undefined} className="nowrap">
      <Mark tint={TINTS[status]}>{status.replaceAll("_", " ")}</Mark>
      {why && <div className="muted">{why.replaceAll("_", " ")}</div>}
    </div>
  );
}

// So far, if the run is not over.
const durationOf = ({ startedAt, endedAt }: ConsoleRun): string =>
  startedAt === null ? "–" : duration((endedAt === null ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt));
