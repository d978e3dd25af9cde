import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { ConsoleSession } from "@berth/contract/console.ts";
import { scrollToRow, useVisibleRange } from "../../workspace/browser/use-visible-range.ts";
import { useLocation, hrefOf, navigate } from "../connection/location.ts";
import { TABLE_ROW } from "./row-height.ts";
import { rowId, SessionRow } from "./session-row.tsx";

// The next page is read before its rows are on the screen.
const AHEAD = 40;

export interface SessionTableProps {
  rows: readonly ConsoleSession[];
  hasMore: boolean;
  showPartner: boolean;
  // Receives the ids of the rows on the screen.
  onVisible: (ids: string[]) => void;
  onEnd: () => void;
}

// Renders only the rows on the screen, so that thousands of them cost no more than thirty. The grid itself has the focus, because the
// selected row may not be rendered.
export function SessionTable({ rows, hasMore, showPartner, onVisible, onEnd }: SessionTableProps) {
  const grid = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const range = useVisibleRange(scroller, TABLE_ROW);
  const { kind } = useLocation();
  const [current, setCurrent] = useState(0);
  const shown = rows.slice(range.first, range.end);
  const active = current >= range.first && current < range.end ? rows[current] : undefined;

  useEffect(() => {
    onVisible(shown.map(({ id }) => id));
    if (hasMore && range.end + AHEAD > rows.length) onEnd();
  });

  const selectRow = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setCurrent(next);
    if (scroller.current) scrollToRow(scroller.current, next, TABLE_ROW);
    grid.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pageRows = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / TABLE_ROW) - 1);
    const target = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + pageRows,
      PageUp: current - pageRows,
      Home: 0,
      End: Infinity,
    }[event.key];
    if (target !== undefined) selectRow(target);
    else if (event.key === "Enter" && rows[current]) navigate(hrefOf(kind, ["sessions", rows[current].id]));
    else return;
    event.preventDefault();
  };

  return (
    <div
      ref={grid}
      className="table"
      role="grid"
      tabIndex={0}
      aria-activedescendant={active && rowId(active.id)}
      aria-label="Sessions"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      data-partner={showPartner}
      onKeyDown={onKeyDown}
    >
      <div role="row" className="table-head" aria-rowindex={1}>
        {["Session", "User", ...(showPartner ? ["Partner"] : []), "Status", "Template", "Created", "Ends"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div ref={scroller} className="table-body" role="rowgroup">
        {rows.length === 0 && !hasMore && <p className="nothing muted">No session matches.</p>}
        <div
          role="presentation"
          className="table-space"
          ref={(element) => void (element && (element.style.height = `${rows.length * TABLE_ROW}px`))}
        >
          {shown.map((session, at) => (
            <SessionRow
              key={session.id}
              session={session}
              index={range.first + at}
              isSelected={range.first + at === current}
              showPartner={showPartner}
              onSelect={() => setCurrent(range.first + at)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}
