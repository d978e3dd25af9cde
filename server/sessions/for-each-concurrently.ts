// Does `work` for every item, a few at a time, so that a thousand sessions at once do not keep the engine from partners'
// calls. `work` handles its own errors.
export async function fewAtATime<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const AT_ONCE = 4;
