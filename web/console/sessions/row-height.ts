// The height of a row in pixels: `--table-row` in styles/table.css.
export const TABLE_ROW = 34;
