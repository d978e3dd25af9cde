import "../styles/editor/viewers.css";
import { useMemo, useRef, type ReactNode } from "react";
import { ROW_HEIGHT, useVisibleRange } from "../browser/use-visible-range.ts";
import { parseTable, separatorOf } from "./parse-table.ts";

const MAX_ROWS = 100_000;
const MAX_COLUMNS = 100;
const MEASURED_ROWS = 200;

// Comma-separated values as a table with the first row as its head. Only the rows on the screen exist in the page.
export default function TableViewer({ name, text, children }: { name: string; text: string; children: ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null);
  const range = useVisibleRange(scroller);
  const { rows, truncated } = useMemo(() => parseTable(text, separatorOf(text), MAX_ROWS), [text]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const [head = [], ...body] = rows;
  const last = Math.min(range.end, body.length);
  const count = Math.min(MAX_COLUMNS, columns.count);
  const cells = (row: readonly string[], role: "cell" | "columnheader") =>
    Array.from({ length: count }, (_, i) => (
      <span key={i} role={role} title={row[i]}>
        {row[i]}
      </span>
    ));
  return (
    <div className="viewer">
      <div className="viewer-bar">
        <span className="grow muted truncate">
          {body.length.toLocaleString("en")} rows, {columns.count} columns
        </span>
        {children}
      </div>
      <div ref={scroller} className="table-view" role="table" aria-label={`Table ${name}`} aria-rowcount={rows.length} tabIndex={0}>
        <div role="rowgroup" style={{ height: (body.length + 1) * ROW_HEIGHT, width: "max-content", minWidth: "100%" }}>
          <div role="row" className="table-row head" style={{ gridTemplateColumns: columns.template }}>
            <span role="columnheader" aria-label="Row" />
            {cells(head, "columnheader")}
          </div>
          {body.slice(range.first, last).map((row, i) => (
            <div
              key={range.first + i}
              role="row"
              aria-rowindex={range.first + i + 2}
              className="table-row"
              style={{ top: (range.first + i + 1) * ROW_HEIGHT, gridTemplateColumns: columns.template }}
            >
              <span role="rowheader" className="muted">
                {range.first + i + 1}
              </span>
              {cells(row, "cell")}
            </div>
          ))}
        </div>
      </div>
      {(truncated || columns.count > MAX_COLUMNS) && (
        <p className="viewer-error">
          The table is larger than shown here: the first {MAX_ROWS.toLocaleString("en")} rows and {MAX_COLUMNS} columns.
        </p>
      )}
    </div>
  );
}

// The columns are as wide as the texts of the first and last rows, within limits.
function columnsOf(rows: readonly string[][]): { count: number; template: string } {
  const widths: number[] = [];
  for (const row of [...rows.slice(0, MEASURED_ROWS), ...rows.slice(-MEASURED_ROWS)])
    for (const [i, text] of row.entries()) widths[i] = Math.min(48, Math.max(widths[i] ?? 5, text.length));
  const shown = widths.slice(0, MAX_COLUMNS).map((width) => `calc(${width + 1}ch + 18px)`);
  return { count: widths.length, template: ["9ch", ...shown].join(" ") };
}
