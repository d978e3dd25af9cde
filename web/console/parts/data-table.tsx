import type { ReactNode } from "react";

export interface Column<Row> {
  name: string;
  value: (row: Row) => ReactNode;
  // The column holds numbers, which are aligned at their end.
  isNumber?: true;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  empty: string;
}

// A table of a bounded number of rows. The list of sessions has its own, which renders only what is on the screen.
export function DataTable<Row>({ label, rows, columns, keyOf, empty }: Props<Row>) {
  if (rows.length === 0) return <p className="muted">{empty}</p>;
  const className = ({ isNumber }: Column<Row>) => (isNumber ? "number" : undefined);
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="plain">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={className(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} className={className(column)}>
                  {column.value(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
