import { RUN_FILTERS, type ConsoleRun } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { useFilters } from "../connection/use-filters.ts";
import { usePages } from "../connection/use-pages.ts";
import { Failure } from "../parts/failure.tsx";
import { shortId } from "../parts/format.ts";
import { MoreButton } from "../parts/more-button.tsx";
import { PartnerFilter } from "../parts/partner-filter.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { partnerColumn, RunTable, sessionColumn, userColumn } from "./run-table.tsx";

// The work of agents that partners have asked for.
export function RunsPage() {
  const { viewer } = useConsole();
  const { filter, change } = useFilters(["status", "partner", "user", "sessionId"]);
  const { rows, error, more, reload } = usePages<ConsoleRun>("/runs", { limit: "50", ...filter });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div className="page">
      <div className="head">
        <h1>Runs</h1>
        <span className="grow" />
        <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <TextFilter label="User" placeholder="All users" value={filter.user ?? ""} onChange={(user) => change({ user })} />
          <PartnerFilter value={filter.partner} onChange={(partner) => change({ partner })} />
          {filter.sessionId !== undefined && (
            <button type="button" className="button" title="Show all sessions" onClick={() => change({ sessionId: "" })}>
              Session: {shortId(filter.sessionId)} ×
            </button>
          )}
          <select
            className="field"
            aria-label="Status"
            value={filter.status ?? ""}
            onChange={(event) => change({ status: event.target.value })}
          >
            <option value="">all</option>
            {RUN_FILTERS.map((status) => (
              <option key={status} value={status}>
                {status.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </form>
        <button type="button" className="button" onClick={reload}>
          Refresh
        </button>
      </div>
      <Failure message={error} />
      {rows && (
        <RunTable
          rows={rows}
          empty={isFiltered ? "No run matches." : "No runs yet. Partners start them over the API."}
          more={[userColumn, ...(viewer.kind === "operator" ? [partnerColumn] : []), sessionColumn]}
        />
      )}
      <MoreButton more={more} />
    </div>
  );
}
