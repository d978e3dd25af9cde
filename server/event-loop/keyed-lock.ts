// Runs at most one piece of work per key at a time, in the order of the calls. Different keys do not wait for each other.
export type KeyedLock = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const previous = tails.get(key);
    const current = (async () => {
      await previous?.catch(() => undefined);
      return await work();
    })();
    tails.set(key, current);
    try {
      return await current;
    } finally {
      if (tails.get(key) === current) tails.delete(key);
    }
  };
}
