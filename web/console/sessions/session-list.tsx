import { useCallback, useRef } from "react";
import { STATUS_FILTERS } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { useFilters } from "../connection/use-filters.ts";
import { Failure } from "../parts/failure.tsx";
import { count } from "../parts/format.ts";
import { PartnerFilter } from "../parts/partner-filter.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { SessionTable } from "./session-table.tsx";
import { useSessionRows } from "./use-session-rows.ts";

// All sessions in one table.
export function SessionList() {
  const { viewer } = useConsole();
  const { filter, change } = useFilters(["status", "partner", "template", "search"]);
  const shown = useRef<string[]>([]);
  const visibleIds = useCallback(() => shown.current, []);
  const { rows, hasMore, error, loadMore } = useSessionRows(filter, visibleIds);

  return (
    <div className="page full">
      <div className="head">
        <h1>Sessions</h1>
        <span className="muted" role="status">
          {count(rows.length)}
          {hasMore ? " loaded, more below" : ""}
        </span>
        <span className="grow" />
        <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <TextFilter
            label="Search"
            placeholder="Session, sandbox or user"
            value={filter.search ?? ""}
            onChange={(search) => change({ search })}
          />
          <PartnerFilter value={filter.partner} onChange={(partner) => change({ partner })} />
          {filter.template !== undefined && (
            <button type="button" className="button" title="Show all templates" onClick={() => change({ template: "" })}>
              Template: {filter.template} ×
            </button>
          )}
          <select
            className="field"
            aria-label="Status"
            value={filter.status ?? "live"}
            onChange={(event) => change({ status: event.target.value === "live" ? "" : event.target.value })}
          >
            {STATUS_FILTERS.map((status) => (
              <option key={status}>{status}</option>
            ))}
          </select>
        </form>
      </div>
      <Failure message={error} />
      <SessionTable
        rows={rows}
        hasMore={hasMore}
        showPartner={viewer.kind === "operator"}
        onVisible={(ids) => (shown.current = ids)}
        onEnd={loadMore}
      />
    </div>
  );
}
