import type { V1PodAffinityTerm, V1PodSpec } from "@kubernetes/client-node";
import type { ApiObject, Objects } from "../objects.ts";

// The double's scheduler: returns the first node that may run the pod, or why there is none.
export interface SchedulerDeps {
  objects: Objects;
  nodes: ReadonlySet<string>;
  podsPerNode: number;
  nodeOf(pod: ApiObject): string | undefined;
}

export function chooseNode({ objects, nodes, podsPerNode, nodeOf }: SchedulerDeps, pod: ApiObject): { node: string } | { message: string } {
  const refusal = (why: string) => ({ message: `0/${nodes.size} nodes are available: ${why}` });
  const { volumes = [], affinity } = pod.spec as unknown as V1PodSpec;
  const unbound = volumes.some(({ persistentVolumeClaim }) => {
    const claim = persistentVolumeClaim && objects.get("persistentvolumeclaims", persistentVolumeClaim.claimName);
    return persistentVolumeClaim && claim?.status?.["phase"] !== "Bound";
  });
  if (unbound) return refusal("pod has unbound immediate PersistentVolumeClaims.");
  const placed = objects.list("pods").filter(nodeOf);
  const withRoom = [...nodes].filter((node) => placed.filter((other) => nodeOf(other) === node).length < podsPerNode);
  if (withRoom.length === 0) return refusal(`${nodes.size} Too many pods.`);
  // As in Kubernetes: a pod counts only if it matches all terms, and if there is none, the first of them may run anywhere.
  const terms = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const beside = placed.filter((other) => terms.length > 0 && terms.every((term) => matchesTerm(other, term))).map(nodeOf);
  const node = withRoom.find((one) => beside.length === 0 || beside.includes(one));
  return node === undefined ? refusal("1 node(s) didn't match pod affinity rules, 1 Too many pods.") : { node };
}

// The driver only asks for labels that exist.
const matchesTerm = ({ metadata }: ApiObject, { labelSelector }: V1PodAffinityTerm) =>
  labelSelector?.matchExpressions?.every(({ key }) => metadata.labels?.[key] !== undefined) ?? false;
