// Runs `work` for every item, at most `concurrency` at a time, so that a thousand due sessions cannot keep the engine from
// partners' calls. `work` handles its own errors.
export async function forEachConcurrently<T>(
  items: readonly T[],
  { concurrency }: { concurrency: number },
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

// The limit of work that no caller waits for.
export const BACKGROUND = { concurrency: 4 };
