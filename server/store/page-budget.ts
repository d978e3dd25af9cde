// How much a page of a list may hold. Rows carry what partners have stored, which differs a thousandfold in size, so pages
// are bounded in bytes as well as in rows: one that is full ends early, and the next goes on from there. Rows are read in
// batches that grow, so that a page of large ones does not read many more than it shows.
export const PAGE_BYTES = 1024 * 1024;
const FIRST_BATCH = 10;
const MAX_BATCH = 100;

// The sizes of the batches, `limit` rows together.
export function* batchSizes(limit: number): Generator<number> {
  let size = FIRST_BATCH;
  for (let left = limit; left > 0; left -= size, size = Math.min(2 * size, MAX_BATCH)) yield Math.min(size, left);
}
