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

const isStarted = (pod: V1Pod) => pod.status?.phase === "Running" && !isLeaving(pod);

export const isAlive = (pod: V1Pod) => isStarted(pod) && !isOnLostNode(pod);

// The eviction may come later than the toleration's end: the control plane works in its own time, and clocks differ.
const EVICTION_MARGIN_MS = 15_000;

// The node is lost, but the control plane has not given the pod up yet. A node that comes back before the eviction goes on
// with the pod's processes, so nothing is lost until then. Without an eviction (the controllers are away, too) the end of
// the toleration decides.
export function mayReturn(pod: V1Pod, nowMs: number): boolean {
  if (!isStarted(pod) || !isOnLostNode(pod)) return false;
  const lostAt = pod.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
  return nowMs < new Date(lostAt ?? 0).getTime() + toleratedMs(pod) + EVICTION_MARGIN_MS;
}

// A pod without this toleration is evicted at once; one that has it without an end stays until somebody deletes it.
function toleratedMs({ spec }: V1Pod): number {
  const toleration = spec?.tolerations?.find(({ key }) => key === "node.kubernetes.io/unreachable");
  return toleration ? (toleration.tolerationSeconds ?? Infinity) * 1000 : 0;
}

// Worth a try: a daemon may answer although its node does not, when only the kubelet or the API server is away.
export const mayAnswer = isStarted;

export type StartFailure = { kind: "failed" | "no_room"; reason: string };

const HOPELESS = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "CrashLoopBackOff",
  "RunContainerError",
]);

// Why the pod does not start. `failed` is for good; `no_room` may pass, when a node becomes free or is added.
export function startFailureOf(pod: V1Pod): StartFailure | null {
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

// The scheduler has found no node for the pod. A pod that waits for its volume, or is held back on purpose, is not meant.
export function isUnschedulable({ status }: V1Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False" && scheduled.reason === "Unschedulable" && !AWAITS_VOLUME.test(scheduled.message ?? "");
}

const AWAITS_VOLUME = /unbound immediate PersistentVolumeClaims|persistentvolumeclaim "[^"]*" (not found|is being deleted)/i;

const conditionOf = (pod: V1Pod, type: string) => pod.status?.conditions?.find((condition) => condition.type === type)?.status;
