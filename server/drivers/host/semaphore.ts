// Runs a bounded number of tasks at a time and queues the rest in the order of arrival. Starting a hundred containers at once
// delays each of them more than starting a few at a time.
export type Semaphore = <Result>(signal: AbortSignal, work: () => Promise<Result>) => Promise<Result>;

export function createSemaphore(permits: number): Semaphore {
  let free = permits;
  const queue = new Set<() => void>();

  async function acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) return void free--;
    await new Promise<void>((resolve, reject) => {
      const grant = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        queue.delete(grant);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      queue.add(grant);
    });
  }

  // Hands the permit directly to the next in the queue, so that a later caller cannot take it first.
  function release(): void {
    const [next] = queue;
    if (!next) return void free++;
    queue.delete(next);
    next();
  }

  return async (signal, work) => {
    await acquire(signal);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
