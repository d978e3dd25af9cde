// One piece of work at a time for each key, in the order of the calls.
export type KeyedLock = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return await work();
    })();
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
