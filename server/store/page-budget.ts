// Pages of a list are limited in bytes as well as in rows, because rows hold partners' data, which differs a thousandfold in
// size. A full page ends early, and the next one continues there. Rows are read in growing batches, so that a page of large rows
// does not read many more than it shows.
export const PAGE_BYTES = 1024 * 1024;
// A page with more bytes or rows than this is read in slices, between which the event loop does other work.
export const SLICE_BYTES = 64 * 1024;
export const SLICE_ROWS = 100;
// A page of the default size and the row that shows whether there is a next one.
const FIRST_BATCH = 21;
const MAX_BATCH = 100;

// The batch sizes, `limit` rows in total.
export function* batchSizes(limit: number): Generator<number> {
  let size = FIRST_BATCH;
  for (let left = limit; left > 0; left -= size, size = Math.min(2 * size, MAX_BATCH)) yield Math.min(size, left);
}
