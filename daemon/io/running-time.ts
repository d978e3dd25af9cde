import { uptimeMs } from "./uptime.ts";

const TICK_MS = 1000;

// Calls back after a time in which the daemon ran. A pause freezes the daemon and does not count: a command gets the same time with a
// pause and without. Returns a function that cancels it.
export function afterRunningTime(ms: number, callback: () => void): () => void {
  let leftMs = ms;
  let timer: NodeJS.Timeout;
  const wait = () => {
    const startedMs = uptimeMs();
    const tickMs = Math.min(leftMs, TICK_MS);
    timer = setTimeout(() => {
      // A busy machine delays a tick a little, and a pause for as long as it lasts.
      leftMs -= Math.min(uptimeMs() - startedMs, 2 * tickMs);
      if (leftMs <= 0) callback();
      else wait();
    }, tickMs);
  };
  wait();
  return () => clearTimeout(timer);
}
