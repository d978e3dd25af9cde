import type { KubernetesObject, V1Pod } from "@kubernetes/client-node";

// What a pod says about the sandbox in it.

// Which run this is: a container that was restarted in place has none of the processes of the one before.
export function runOf(pod: V1Pod): string {
  return `${pod.metadata?.uid ?? ""}.${pod.status?.containerStatuses?.[0]?.restartCount ?? 0}`;
}

export const isLeaving = (pod: V1Pod) => pod.metadata?.deletionTimestamp !== undefined;

export const isOwnedBy = (pod: KubernetesObject, owner: KubernetesObject) =>
  pod.metadata?.ownerReferences?.some(({ uid }) => uid === owner.metadata?.uid) === true;

// When a node stops answering, the control plane takes Ready away from its pods but leaves what the node last said about
// the containers.
export function isOnLostNode(pod: V1Pod): boolean {
  return conditionOf(pod, "Ready") === "False" && conditionOf(pod, "ContainersReady") === "True";
}

export const isAlive = (pod: V1Pod) => pod.status?.phase === "Running" && !isLeaving(pod) && !isOnLostNode(pod);

export type Trouble = { kind: "failed" | "no_room"; reason: string };

const HOPELESS = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "CrashLoopBackOff",
  "RunContainerError",
]);

// Why the pod does not start. `failed` is for good; `no_room` may pass, when a node becomes free or is added.
export function troubleOf(pod: V1Pod): Trouble | null {
  const { phase, reason, message, conditions, containerStatuses } = pod.status ?? {};
  if (phase === "Failed" || phase === "Succeeded")
    return { kind: "failed", reason: `the pod ended: ${reason ?? phase} ${message ?? ""}`.trim() };
  const waiting = containerStatuses?.[0]?.state?.waiting;
  if (waiting && HOPELESS.has(waiting.reason ?? "")) return { kind: "failed", reason: `${waiting.reason}: ${waiting.message ?? ""}` };
  const scheduled = conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return { kind: "no_room", reason: `${scheduled.reason ?? "not scheduled"}: ${scheduled.message ?? ""}` };
  return null;
}

const conditionOf = (pod: V1Pod, type: string) => pod.status?.conditions?.find((condition) => condition.type === type)?.status;
