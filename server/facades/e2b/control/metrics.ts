import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../../clock.ts";
import type { SessionView } from "../../../sessions/sessions.ts";
import type { SandboxFormat } from "./sandbox-format.ts";

// The present use of a sandbox; null if it is not known.
export type ReadStats = (session: SessionView) => Promise<{
  cpuMs: number | null;
  memoryBytes: number | null;
  diskBytes: number | null;
} | null>;

const SAMPLE_MS = 100;
const SLACK_SECONDS = 5;
const MIB = 1024 * 1024;

// E2B returns a series. Berth measures on request, so there is one value: that of now, if the caller asks for a time around it.
export async function readMetrics(read: ReadStats, session: SessionView, format: SandboxFormat, query: Range, clock: Clock) {
  const seconds = clock.now() / 1000;
  if (Number(query.start ?? 0) > seconds + SLACK_SECONDS || Number(query.end ?? Infinity) < seconds - SLACK_SECONDS) return [];
  if (session.status !== "running") return [];
  const startedMs = performance.now();
  const before = await read(session);
  await delay(SAMPLE_MS);
  const now = await read(session);
  if (!before || !now) return [];
  const { cpuCount, memoryMB, diskSizeMB } = format.listed(session);
  const busyMs = (now.cpuMs ?? 0) - (before.cpuMs ?? 0);
  const timestamp = new Date(clock.now());
  return [
    {
      timestamp: timestamp.toISOString(),
      timestampUnix: Math.floor(timestamp.getTime() / 1000),
      cpuCount,
      cpuUsedPct: Math.max(0, Math.round((busyMs / (performance.now() - startedMs)) * 10_000) / 100),
      memUsed: now.memoryBytes ?? 0,
      memTotal: memoryMB * MIB,
      memCache: 0,
      diskUsed: now.diskBytes ?? 0,
      diskTotal: diskSizeMB * MIB,
    },
  ];
}

interface Range {
  start?: string;
  end?: string;
}
