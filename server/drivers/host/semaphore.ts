// Lets a bounded number of pieces of work through at a time, the others in the order they came. A hundred containers that
// are started at once take longer, each of them, than a hundred started a few at a time.
export type Semaphore = <Result>(signal: AbortSignal, work: () => Promise<Result>) => Promise<Result>;

export function createSemaphore(places: number): Semaphore {
  let free = places;
  const queue = new Set<() => void>();

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) return void free--;
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        queue.delete(admit);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      queue.add(admit);
    });
  }

  // A place passes straight to the next in line, so that nobody who comes later can take it.
  function leave(): void {
    const [next] = queue;
    if (!next) return void free++;
    queue.delete(next);
    next();
  }

  return async (signal, work) => {
    await enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
