import { statfs } from "node:fs/promises";
import { availableParallelism, freemem, loadavg, totalmem } from "node:os";
import type { Registry } from "prom-client";

// The metrics of this server that the console shows, since its start.
export interface ServerReading {
  createSeconds: { start: string; count: number; p50: number | null; p99: number | null }[];
  pool: { warm: number; misses: number };
  // The most frequent first.
  refusals: { code: string; count: number }[];
}

const MAX_CODES = 8;

export async function readServerMetrics(registry: Registry): Promise<ServerReading> {
  const [durations, pooled, errors, sessions] = await Promise.all(
    ["berth_session_operation_duration_seconds", "berth_pool_creates_total", "berth_http_errors_total", "berth_sessions"].map((name) =>
      samplesOf(registry, name),
    ),
  );
  const creates = durations!.filter(({ labels }) => labels.operation === "create" && labels.outcome === "ok");
  const starts = [...new Set(creates.map(({ labels }) => String(labels.start)))].toSorted();
  return {
    createSeconds: starts.map((start) => ({ start, ...quantiles(creates.filter(({ labels }) => labels.start === start)) })),
    pool: {
      warm: sum(sessions!.filter(({ labels }) => labels.state === "warm")),
      misses: sum(pooled!.filter(({ labels }) => labels.found === "none")),
    },
    refusals: errors!
      .map(({ labels, value }) => ({ code: String(labels.code), count: value }))
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MAX_CODES),
  };
}

interface Sample {
  metricName?: string;
  labels: Partial<Record<string, string | number>>;
  value: number;
}

async function samplesOf(registry: Registry, name: string): Promise<Sample[]> {
  const metric = registry.getSingleMetric(name);
  return metric ? (await metric.get()).values : [];
}

const sum = (samples: readonly Sample[]): number => samples.reduce((total, { value }) => total + value, 0);

// The upper bounds of the buckets that hold the quantiles. null without observations.
function quantiles(samples: readonly Sample[]): { count: number; p50: number | null; p99: number | null } {
  const buckets = samples
    .filter(({ metricName }) => metricName?.endsWith("_bucket"))
    .map(({ labels, value }) => ({ le: Number(labels.le === "+Inf" ? Infinity : labels.le), value }));
  const count = sum(samples.filter(({ metricName }) => metricName?.endsWith("_count")));
  const quantile = (share: number) => {
    const found = buckets.toSorted((a, b) => a.le - b.le).find(({ value }) => value >= share * count);
    return count === 0 || !found || found.le === Infinity ? null : found.le;
  };
  return { count, p50: quantile(0.5), p99: quantile(0.99) };
}

export async function readMachine(folder: string) {
  const { bavail, blocks, bsize } = await statfs(folder);
  return {
    cpus: availableParallelism(),
    load: loadavg()[0]!,
    memoryBytes: totalmem(),
    memoryFreeBytes: freemem(),
    diskBytes: blocks * bsize,
    diskFreeBytes: bavail * bsize,
  };
}
