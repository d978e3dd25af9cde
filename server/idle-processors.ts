import { readFileIfReadable } from "./bounded-io/read-small-file.ts";

export interface IdleProcessorsOptions {
  // How long the processors of the machine have been idle, added up.
  readIdleMs?: () => number;
  // A monotonic clock.
  nowMs?: () => number;
}

// The kernel counts idle time in steps of 10 ms.
const MIN_PERIOD_MS = 20;

// Returns how many processors of the machine were idle, on average, since the last call. Calls within a few milliseconds get the same answer.
export function createIdleProcessors({ readIdleMs = readMachineIdleMs, nowMs = () => performance.now() }: IdleProcessorsOptions = {}) {
  let last = { totalMs: readIdleMs(), readAtMs: nowMs() };
  let idle = 0;
  return (): number => {
    const before = last;
    const readAtMs = nowMs();
    if (readAtMs - before.readAtMs < MIN_PERIOD_MS) return idle;
    last = { totalMs: readIdleMs(), readAtMs };
    return (idle = (last.totalMs - before.totalMs) / (readAtMs - before.readAtMs));
  };
}

const USER_HZ = 100;

// The fields after the name are ticks: user, nice, system, idle, iowait, …
function readMachineIdleMs(): number {
  const [, , , idle = 0, iowait = 0] = (/^cpu +(.*)/.exec(readFileIfReadable("/proc/stat") ?? "")?.[1] ?? "").split(" ").map(Number);
  return ((idle + iowait) * 1_000) / USER_HZ;
}
