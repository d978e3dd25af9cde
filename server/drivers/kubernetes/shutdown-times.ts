import type { Cluster } from "./cluster/cluster.ts";
import type { WorkloadKind } from "./workloads/workload-kinds.ts";
import type { Workloads } from "./workloads/workloads.ts";

export interface ShutdownDeps {
  cluster: Cluster;
  namespace: string;
  kind: WorkloadKind;
  workloads: Pick<Workloads, "list">;
}

// The dead-man switch: the cluster suspends a sandbox whose shutdown time has passed, so that sandboxes do not run forever without
// a server. Postpones the shutdown time of every running sandbox that would end before `dueMs`.
export async function postponeShutdowns(
  { cluster, namespace, kind, workloads }: ShutdownDeps,
  { dueMs, shutdownAt }: { dueMs: number; shutdownAt: Date },
  signal: AbortSignal,
): Promise<void> {
  for (const workload of await workloads.list(signal)) {
    const currentEnd = kind.shutdownAt(workload);
    const patch = kind.extend(shutdownAt);
    if (patch && currentEnd && currentEnd.getTime() < dueMs && !kind.isSuspended(workload))
      await cluster.patch(kind.path(namespace, workload.metadata!.name), patch, signal);
  }
}
