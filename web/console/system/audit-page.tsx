import type { ConsoleAuditEntry } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { usePages } from "../connection/use-pages.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { dateTime } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { MoreButton } from "../parts/more-button.tsx";

// The audit log: changes over the API, at the command line and in the console.
export function AuditPage() {
  const { viewer } = useConsole();
  const { rows, error, more, reload } = usePages<ConsoleAuditEntry>("/audit");
  const partner: Column<ConsoleAuditEntry> = { name: "Partner", value: ({ partnerId }) => partnerId || "–" };
  return (
    <div className="page">
      <div className="head">
        <h1>Audit</h1>
        <span className="grow" />
        <button type="button" className="button" onClick={reload}>
          Refresh
        </button>
      </div>
      <Failure message={error} />
      {rows && (
        <DataTable
          label="Audit log"
          rows={rows}
          keyOf={({ seq }) => seq}
          empty="No entries."
          columns={[
            { name: "Time", value: ({ at }) => dateTime(at) },
            { name: "Who", value: ({ actor }) => actor },
            { name: "What", value: ({ action }) => action },
            {
              name: "Which",
              value: ({ target }) => (target.startsWith("ses_") ? <Link to={["sessions", target]}>{target}</Link> : target),
            },
            ...(viewer.kind === "operator" ? [partner] : []),
            { name: "From", value: ({ ip }) => ip ?? "–" },
            { name: "Request", value: ({ requestId }) => <span className="mono">{requestId ?? "–"}</span> },
          ]}
        />
      )}
      <MoreButton more={more} />
    </div>
  );
}
