import type { KubernetesObject, V1ContainerStateWaiting, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";

// Translates the state of a pod into the condition of its sandbox.

// Identifies one run of the sandbox's processes. A container that restarts in place loses its processes, so it counts as a new run.
export function runIdOf(pod: V1Pod): string {
  return `${pod.metadata?.uid ?? ""}.${pod.status?.containerStatuses?.[0]?.restartCount ?? 0}`;
}

export const isTerminating = (pod: V1Pod) => pod.metadata?.deletionTimestamp !== undefined;

export const isOwnedBy = (pod: KubernetesObject, owner: KubernetesObject) =>
  pod.metadata?.ownerReferences?.some(({ uid }) => uid === owner.metadata?.uid) === true;

// When a node stops answering, the control plane sets Ready of its pods to False, but keeps the last status of the containers.
export function isOnLostNode(pod: V1Pod): boolean {
  return conditionOf(pod, "Ready") === "False" && conditionOf(pod, "ContainersReady") === "True";
}

const isStarted = (pod: V1Pod) => pod.status?.phase === "Running" && !isTerminating(pod);

export const isAlive = (pod: V1Pod) => isStarted(pod) && !isOnLostNode(pod);

// The eviction may come after the end of the toleration, because the control plane is slow and clocks differ.
const EVICTION_MARGIN_MS = 15_000;

// The node is lost, but the pod is not evicted yet. If the node comes back before the eviction, the pod's processes continue. If
// there is no eviction, because the controllers are down as well, the end of the toleration decides.
export function mayReturn(pod: V1Pod, nowMs: number): boolean {
  if (!isStarted(pod) || !isOnLostNode(pod)) return false;
  const lostAt = pod.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
  return nowMs < new Date(lostAt ?? 0).getTime() + toleratedMs(pod) + EVICTION_MARGIN_MS;
}

// A pod without this toleration is evicted immediately. A toleration without an end keeps the pod until it is deleted.
function toleratedMs({ spec }: V1Pod): number {
  const toleration = spec?.tolerations?.find(({ key }) => key === "node.kubernetes.io/unreachable");
  return toleration ? (toleration.tolerationSeconds ?? Infinity) * 1000 : 0;
}

// Includes pods on lost nodes: a daemon may answer even if the kubelet or the API server does not.
export const mayAnswer = isStarted;

// `not_fetched`: the image of a container.
export type StartFailure = { kind: "failed" | "not_fetched" | "no_room"; reason: string };

const PERMANENT_REASONS = new Set(["CreateContainerConfigError", "CreateContainerError", "CrashLoopBackOff", "RunContainerError"]);

const IMAGE_REASONS = new Set(["ImagePullBackOff", "InvalidImageName"]);

// The kubelet tries to pull again after ErrImagePull, and says ImagePullBackOff only after half a minute. An image that the
// registry does not have will still be missing then.
const isAbsentImage = ({ reason, message }: V1ContainerStateWaiting) =>
  reason === "ErrImagePull" && /: not found\b|manifest unknown|name unknown|repository does not exist|code = NotFound/i.test(message ?? "");

// Why the pod does not start, or null. `no_room` may end when a node becomes free or is added; the others are permanent.
export function startFailureOf(pod: V1Pod): StartFailure | null {
  const { phase, reason, message, conditions, initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const containers = [...initContainerStatuses, ...containerStatuses];
  if (phase === "Failed" || phase === "Succeeded")
    return { kind: "failed", reason: ["the pod ended:", reason ?? phase, message, ...containers.map(failureOf)].filter(Boolean).join(" ") };
  for (const container of containers) {
    const waiting = container.state?.waiting;
    const text = [waiting?.reason, waiting?.message, failureOf(container)].filter(Boolean).join(": ");
    if (waiting && (IMAGE_REASONS.has(waiting.reason ?? "") || isAbsentImage(waiting))) return { kind: "not_fetched", reason: text };
    if (PERMANENT_REASONS.has(waiting?.reason ?? "")) return { kind: "failed", reason: text };
  }
  const scheduled = conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return { kind: "no_room", reason: `${scheduled.reason ?? "not scheduled"}: ${scheduled.message ?? ""}` };
  return null;
}

// The exit code and the last output of a container that has failed, or null.
function failureOf({ name, state, lastState }: V1ContainerStatus): string | null {
  const end = state?.terminated ?? lastState?.terminated;
  return end && end.exitCode !== 0 ? `${name} exited with ${end.exitCode}: ${end.message?.trim() ?? "no output"}` : null;
}

export const hasNode = ({ spec }: V1Pod) => spec?.nodeName !== undefined;

// The scheduler has found no node for the pod. Does not include pods that wait for their volume or for a scheduling gate.
export function isUnschedulable({ status }: V1Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False" && scheduled.reason === "Unschedulable" && !AWAITS_VOLUME.test(scheduled.message ?? "");
}

const AWAITS_VOLUME = /unbound immediate PersistentVolumeClaims|persistentvolumeclaim "[^"]*" (not found|is being deleted)/i;

const conditionOf = (pod: V1Pod, type: string) => pod.status?.conditions?.find((condition) => condition.type === type)?.status;
