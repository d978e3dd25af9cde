import { plainText } from "../../plain-text.ts";
import { objectOf, timeOf } from "../report-fields.ts";

// How a process ended, as its daemon says. People and partners' backends read it.
export interface ProcessEnd {
  processId: string;
  name: string | null;
  status: "exited" | "lost";
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  startedAt: string;
  endedAt: string;
  durationMs: number;
}

// null if it is none.
export function parseEnd(data: unknown): ProcessEnd | null {
  const { id, name, status, exitCode, signal, timedOut, startedAt, endedAt } = objectOf(data) ?? {};
  const [startedMs, endedMs] = [timeOf(startedAt), timeOf(endedAt)];
  if (typeof id !== "string" || !/^proc_[0-9a-f]{16}$/.test(id) || startedMs === null || endedMs === null) return null;
  return {
    processId: id,
    name: typeof name === "string" ? plainText(name) : null,
    status: status === "lost" ? "lost" : "exited",
    exitCode: Number.isInteger(exitCode) && Math.abs(exitCode as number) < 1000 ? (exitCode as number) : null,
    signal: typeof signal === "string" && /^SIG[A-Z0-9]{1,12}$/.test(signal) ? signal : null,
    timedOut: timedOut === true,
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(endedMs).toISOString(),
    durationMs: Math.max(0, endedMs - startedMs),
  };
}
