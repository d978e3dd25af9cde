import type { Cluster } from "./cluster/cluster.ts";
import { EXTENSIONS } from "./cluster/names.ts";
import { isAllowed } from "./cluster/permissions.ts";
import { sandboxKind, statefulSetKind, type WorkloadKind } from "./workloads/workload-kinds.ts";

const TIMEOUT_MS = 10_000;

// Uses Sandboxes if agent-sandbox is installed in the cluster, otherwise StatefulSets.
export async function chooseWorkloadKind(cluster: Cluster): Promise<WorkloadKind> {
  return (await cluster.get("/apis/agents.x-k8s.io/v1beta1", AbortSignal.timeout(TIMEOUT_MS))) ? sandboxKind : statefulSetKind;
}

// True if sandboxes may come from a warm pool, even if no pool is configured any more.
export async function mayHaveClaims(cluster: Cluster, namespace: string, kind: WorkloadKind): Promise<boolean> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  if (kind !== sandboxKind || !(await cluster.get(EXTENSIONS, signal))) return false;
  return await isAllowed(cluster, { namespace, group: "extensions.agents.x-k8s.io", resource: "sandboxclaims", verb: "list" }, signal);
}
