// Long work on the server's one thread, in slices: everything that awaits a turn gets one in the order of asking, and the
// event loop goes round between any two. However many wait, other work is held up by one slice at a time.
export function createLoopTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(nextRound));
}

const nextRound = () => new Promise<void>((resolve) => setImmediate(resolve));
