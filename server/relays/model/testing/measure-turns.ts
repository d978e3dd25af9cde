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

const MOST_OF_FIVE = 3;

// The median of the longest turns in five runs of the same work, because the system also counts time in which a busy host did not
// run the machine. Ends when most of the five are below the limit, or most are not: the rest would not change that.
export async function longestTurnMs(work: () => Promise<void>, { limitMs }: { limitMs: number }): Promise<number> {
  const longest: number[] = [];
  const below = () => longest.filter((ms) => ms < limitMs).length;
  while (Math.max(below(), longest.length - below()) < MOST_OF_FIVE) {
    const turns = measureTurns();
    try {
      await work();
    } finally {
      longest.push(turns.longestMs());
    }
  }
  return longest.toSorted((a, b) => a - b)[longest.length >> 1]!;
}
