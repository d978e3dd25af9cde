// Schedules long work on the event loop in slices. Each call resolves in its turn, first come first served, and the event loop
// completes an iteration between two turns. However many callers wait, other work is delayed by one slice at a time.
export function createLoopTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(nextIteration));
}

const nextIteration = () => new Promise<void>((resolve) => setImmediate(resolve));
