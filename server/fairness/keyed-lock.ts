import { raceAbort } from "../bounded-io/race-abort.ts";

// Runs at most one piece of work per key at a time, in the order of the calls. Different keys do not wait for each other. A signal ends only
// the wait.
export type KeyedLock = <Result>(key: string, work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return (key, work, signal) => {
    const previous = tails.get(key);
    const current = (async () => {
      if (previous) await (signal ? raceAbort(previous, signal) : previous);
      signal?.throwIfAborted();
      return await work();
    })();
    // Work behind a call that has given up still waits for the work before it.
    const tail = Promise.allSettled([previous, current]).then(() => void (tails.get(key) === tail && tails.delete(key)));
    tails.set(key, tail);
    return current;
  };
}
