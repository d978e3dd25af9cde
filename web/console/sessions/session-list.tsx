import { useCallback, useRef } from "react";
import { STATUS_FILTERS } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { replaceQuery, useLocation } from "../connection/location.ts";
import { Failure } from "../parts/failure.tsx";
import { count } from "../parts/format.ts";
import { TextFilter } from "../parts/text-filter.tsx";
import { SessionTable } from "./session-table.tsx";
import { useSessionRows } from "./use-session-rows.ts";

const FILTERS = ["status", "partner", "template", "search"] as const;
type Filter = Partial<Record<(typeof FILTERS)[number], string>>;

// All sessions in one table. The filters are in the address, so that they can be shared and survive a reload.
export function SessionList() {
  const { viewer } = useConsole();
  const { query } = useLocation();
  const filter: Filter = Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
  const change = (changed: Filter) => replaceQuery({ ...filter, ...changed });
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
          {viewer.kind === "operator" && (
            <TextFilter
              label="Partner"
              placeholder="All partners"
              value={filter.partner ?? ""}
              onChange={(partner) => change({ partner })}
            />
          )}
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
