// The most processor time of this thread between two turns of its event loop: how long other work is held up, whatever else
// the machine does. It keeps the loop turning, which costs a little itself.
export function measureTurns(): { longestMs(): number } {
  let longest = 0;
  let before = process.threadCpuUsage();
  let next = setImmediate(turn);
  function turn() {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
    next = setImmediate(turn);
  }
  return {
    longestMs() {
      clearImmediate(next);
      return longest;
    },
  };
}

// A busy host can disturb many attempts in a row.
const MAX_ATTEMPTS = 20;

// The same for work that can be repeated. The system also counts time in which a busy host did not run the machine, so a
// turn that seems long is measured again: work that really holds the loop holds it every time.
export async function longestTurnMs(work: () => Promise<void>, { enoughMs }: { enoughMs: number }): Promise<number> {
  let shortest = Infinity;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && shortest >= enoughMs; attempt++) {
    const turns = measureTurns();
    try {
      await work();
    } finally {
      shortest = Math.min(shortest, turns.longestMs());
    }
  }
  return shortest;
}
