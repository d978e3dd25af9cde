import type { V1Pod } from "@kubernetes/client-node";
import type { SandboxCondition } from "../driver.ts";
import { ANNOTATION } from "./cluster/names.ts";
import { isAlive, mayReturn, runIdOf } from "./pods/pod-state.ts";
import type { Workload, WorkloadKind } from "./workloads/workload-kinds.ts";

// Derives the condition of a sandbox from its workload and its pod. "replaced" means that Kubernetes has replaced the pod that the
// server started. The new pod has none of the session's processes, and its daemon has no environment, so the sandbox counts as
// stopped and has to be suspended.
export function conditionOf(
  kind: WorkloadKind,
  workload: Workload | null,
  pod: V1Pod | null,
  nowMs: number,
): SandboxCondition | "replaced" {
  if (!workload || workload.metadata?.deletionTimestamp) return "absent";
  if (kind.isSuspended(workload) || !pod) return "stopped";
  const alive = isAlive(pod);
  if (!alive && !mayReturn(pod, nowMs)) return "stopped";
  const runId = workload.metadata?.annotations?.[ANNOTATION.run];
  if (runId !== undefined && runId !== runIdOf(pod)) return "replaced";
  return alive ? "running" : "unreachable";
}
