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
