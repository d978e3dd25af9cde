// Makes many commits durable with one sync of the disk. Resolves when everything that was committed before the call is on disk.
// A sync that already runs may have missed the caller's commit, so callers wait for the next one, which they share.
export type GroupSync = () => Promise<void>;

export function createGroupSync(sync: () => Promise<void>): GroupSync {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  async function startNext(): Promise<void> {
    await running.catch(() => {});
    next = undefined;
    running = sync();
    await running;
  }

  return () => (next ??= startNext());
}
