import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const WINDOW_MS = 200;
const QUIET_SHARE = 0.85;

// Waits until the machine is idle, so that a following measurement is not disturbed: a browser keeps working for half a second
// after it has opened an empty page. Returns false if the machine stays busy.
export async function untilQuiet(atMostMs = 10_000): Promise<boolean> {
  const endMs = performance.now() + atMostMs;
  while (performance.now() < endMs) if ((await idleShare()) > QUIET_SHARE) return true;
  return false;
}

async function idleShare(): Promise<number> {
  const before = idleMs();
  const startedMs = performance.now();
  await sleep(WINDOW_MS);
  return (idleMs() - before) / ((performance.now() - startedMs) * cpus().length);
}

const idleMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);
