import type { Cluster } from "./cluster.ts";

const UNITS: Record<string, number> = { "": 1, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, k: 1e3, M: 1e6, G: 1e9 };

// The memory use of a pod. null if the cluster has no metrics API or no metrics of this pod yet.
export async function readMemory(
  cluster: Cluster,
  namespace: string,
  pod: string | undefined,
  signal: AbortSignal,
): Promise<number | null> {
  if (pod === undefined) return null;
  const metrics = await cluster.get<{ containers: { usage: { memory: string } }[] }>(
    `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${pod}`,
    signal,
  );
  return metrics ? metrics.containers.reduce((sum, { usage }) => sum + parseQuantity(usage.memory), 0) : null;
}

export function parseQuantity(text: string): number {
  const [, digits = "0", unit = ""] = /^(\d+(?:\.\d+)?)(\w*)$/.exec(text) ?? [];
  return Math.round(Number(digits) * (UNITS[unit] ?? 1));
}
