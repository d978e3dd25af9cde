import { raceAbort } from "../bounded-io/race-abort.ts";

const TIMEOUT_MS = 2_000;

// Reads the values of gauges from the database, once for all gauges of a scrape. undefined if the database fails or does not answer
// in time: the other metrics are needed most at such a moment.
export function createScrapeReading<Read>(read: () => Promise<Read>): () => Promise<Read | undefined> {
  let reading: Promise<Read | undefined> | undefined;
  return () => {
    reading ??= raceAbort(read(), AbortSignal.timeout(TIMEOUT_MS))
      .catch(() => undefined)
      .finally(() => (reading = undefined));
    return reading;
  };
}
