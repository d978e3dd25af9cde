import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import { isOwnedBy } from "../../../server/drivers/kubernetes/pods/pod-state.ts";
import type { ApiObject, Objects } from "./objects.ts";
import type { PodStatus } from "./nodes/pod-status.ts";
import { reconcileWarmPools } from "./warm-pools.ts";

// The controllers that the driver relies on: Sandbox, StatefulSet and garbage collection. Each is a function from the objects
// to the next change. They behave as observed on Kubernetes 1.36 with agent-sandbox 0.5.6.
export interface ControllerOptions {
  objects: Objects;
  // Whether the garbage collector runs.
  collects: boolean;
  // Whether the pace allows another pod now. If not, the controllers run again when it does.
  mayMakePod: () => boolean;
  // Whether the pace lets the garbage collector delete this object now, likewise.
  mayCollect: (uid: string) => boolean;
  // Deletes a pod; the kubelet ends its processes first.
  deletePod: (name: string) => void;
  now: () => number;
  // Admission: returns a message if the pod is refused.
  refusePod: (pod: V1PodSpec) => string | null;
  // Runs the controllers again after a while.
  retry: (afterMs: number) => void;
  // Deleted workloads that the controllers have not seen yet: they create a pod for them, which is then collected.
  unheard: { sandboxes: ApiObject[]; statefulsets: ApiObject[] };
}

export function reconcile(options: ControllerOptions): void {
  const { objects, unheard, collects } = options;
  if (collects) collectGarbage(options);
  reconcileWarmPools(objects);
  for (const sandbox of [...unheard.sandboxes, ...objects.list("sandboxes")]) reconcileSandbox(options, sandbox);
  for (const set of [...unheard.statefulsets, ...objects.list("statefulsets")]) reconcileStatefulSet(options, set);
}

function reconcileSandbox(options: ControllerOptions, sandbox: ApiObject): void {
  const { objects, deletePod, now } = options;
  const { operatingMode, shutdownTime, podTemplate, volumeClaimTemplates } = sandbox.spec as unknown as SandboxFields;
  const name = sandbox.metadata.name!;
  const pod = objects.get("pods", name);
  if (pod && !isOwnedBy(pod, sandbox)) return;
  const ready = (status: "True" | "False", reason: string, message = "") =>
    objects.setStatus("sandboxes", name, {
      conditions: [{ type: "Ready", status, reason, message, observedGeneration: sandbox.metadata.generation }],
    });

  if (shutdownTime && now() >= new Date(shutdownTime).getTime()) {
    if (pod) deletePod(name);
    return ready("False", "SandboxExpired", "Sandbox has expired");
  }
  if (operatingMode === "Suspended") {
    if (pod) deletePod(name);
    return ready("False", "SandboxSuspended", pod ? "Sandbox is suspending" : "Sandbox is suspended");
  }
  for (const claim of volumeClaimTemplates ?? []) makeClaim(objects, sandbox, claimName(claim, name), claim);
  if (!pod) {
    const refused = options.refusePod(podTemplate.spec);
    if (refused) return ready("False", "ReconcilerError", `Error seen: ${refused}`);
    if (options.mayMakePod()) makePod(objects, sandbox, name, podTemplate, volumeClaimTemplates);
    return ready("False", "DependenciesNotReady", "Pod does not exist");
  }
  passMetadataOn(objects, pod, podTemplate);
  const phase = (pod.status as PodStatus | undefined)?.phase;
  if (phase === "Failed" || phase === "Succeeded") return ready("False", `Pod${phase}`);
  const conditions = (pod.status as PodStatus | undefined)?.conditions ?? [];
  const podReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  ready(podReady ? "True" : "False", podReady ? "DependenciesReady" : "DependenciesNotReady");
}

// The labels and annotations of a Sandbox change when it leaves a warm pool, after its pod was created.
function passMetadataOn(objects: Objects, pod: ApiObject, { metadata: { labels = {}, annotations = {} } }: Template): void {
  const differs = (given: Record<string, string>, there: Record<string, string> = {}) =>
    Object.entries(given).some(([key, value]) => there[key] !== value);
  if (differs(labels, pod.metadata.labels) || differs(annotations, pod.metadata.annotations))
    objects.merge("pods", pod.metadata.name!, { metadata: { labels, annotations } });
}

function reconcileStatefulSet(options: ControllerOptions, set: ApiObject): void {
  const { objects, deletePod } = options;
  const { replicas, template, volumeClaimTemplates } = set.spec as unknown as StatefulSetFields;
  const name = set.metadata.name!;
  const podName = `${name}-0`;
  const pod = objects.get("pods", podName);
  if (pod && !isOwnedBy(pod, set)) return;
  const phase = (pod?.status as PodStatus | undefined)?.phase;
  // A failed pod is replaced. A pod on a lost node is not, because there must never be two.
  if (pod && (replicas === 0 || phase === "Failed" || phase === "Succeeded")) return deletePod(podName);
  if (pod || replicas === 0) return;
  for (const claim of volumeClaimTemplates ?? []) makeClaim(objects, set, claimName(claim, podName), claim);
  const refused = options.refusePod(template.spec);
  if (refused) return recordFailure(options, set, `create Pod ${podName} in StatefulSet ${name} failed error: ${refused}`);
  if (options.mayMakePod()) makePod(objects, set, podName, template, volumeClaimTemplates);
}

// One event per message, with a growing count. The controller retries with exponential back-off.
function recordFailure({ objects, retry }: ControllerOptions, set: ApiObject, message: string): void {
  const { name, uid } = set.metadata;
  const eventName = `${name}.failed-create`;
  const count = ((objects.get("events", eventName) as CountedEvent | undefined)?.count ?? 0) + 1;
  const event = { metadata: { name: eventName }, reason: "FailedCreate", type: "Warning", message, count, involvedObject: { name, uid } };
  if (count === 1) objects.create("events", event);
  else objects.merge("events", eventName, event);
  retry(5 * 2 ** count);
}

type CountedEvent = ApiObject & { count: number };

const OWNERS = ["sandboxes", "statefulsets", "sandboxclaims", "sandboxwarmpools"];

function collectGarbage({ objects, deletePod, mayCollect }: ControllerOptions): void {
  const owners = new Set(OWNERS.flatMap((kind) => objects.list(kind)).map((owner) => owner.metadata.uid));
  const orphaned = (object: ApiObject) => object.metadata.ownerReferences?.some(({ uid }) => !owners.has(uid));
  for (const sandbox of objects.list("sandboxes").filter(orphaned)) objects.remove("sandboxes", sandbox.metadata.name!);
  for (const pod of objects.list("pods").filter(orphaned)) if (mayCollect(pod.metadata.uid!)) deletePod(pod.metadata.name!);
  const mounted = new Set(
    objects
      .list("pods")
      .flatMap((pod) => (pod.spec as unknown as V1PodSpec).volumes?.map((volume) => volume.persistentVolumeClaim?.claimName)),
  );
  for (const claim of objects.list("persistentvolumeclaims")) {
    const leaving = orphaned(claim) || claim.metadata.deletionTimestamp;
    if (leaving && !mounted.has(claim.metadata.name!)) objects.remove("persistentvolumeclaims", claim.metadata.name!);
  }
}

function makeClaim(objects: Objects, owner: ApiObject, name: string, template: Template): void {
  if (objects.get("persistentvolumeclaims", name)) return;
  objects.create("persistentvolumeclaims", {
    metadata: { name, labels: template.metadata.labels ?? {}, ownerReferences: [referenceTo(owner)] },
    spec: template.spec as Record<string, unknown>,
  });
}

const claimName = (claim: Template, pod: string) => `${claim.metadata.name}-${pod}`;

function makePod(objects: Objects, owner: ApiObject, name: string, template: Template, claims: readonly Template[] = []): void {
  const spec = template.spec as V1PodSpec;
  const volumes = [
    ...(spec.volumes ?? []),
    ...claims.map((claim) => ({ name: claim.metadata.name, persistentVolumeClaim: { claimName: claimName(claim, name) } })),
  ];
  objects.create("pods", {
    metadata: {
      name,
      labels: template.metadata.labels ?? {},
      annotations: template.metadata.annotations ?? {},
      ownerReferences: [referenceTo(owner)],
    },
    spec: { restartPolicy: "Always", ...(spec as unknown as Record<string, unknown>), volumes },
    status: { phase: "Pending" },
  });
}

export const referenceTo = (owner: ApiObject) => ({
  apiVersion: owner.apiVersion ?? "",
  kind: owner.kind ?? "",
  name: owner.metadata.name!,
  uid: owner.metadata.uid!,
  controller: true,
});

interface Template {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: unknown;
}

interface SandboxFields {
  operatingMode?: "Running" | "Suspended";
  shutdownTime?: string;
  podTemplate: Template & { spec: V1PodSpec };
  volumeClaimTemplates?: Template[];
}

interface StatefulSetFields {
  replicas: number;
  template: Template & { spec: V1PodSpec };
  volumeClaimTemplates?: Template[];
}

// The rules of Pod Security `restricted` that our pods could violate.
export function restricted(pod: V1PodSpec): string | null {
  const faults: string[] = [];
  for (const container of pod.containers) faults.push(...faultsOf(container));
  if (pod.securityContext?.runAsNonRoot !== true) faults.push("runAsNonRoot != true");
  if (pod.securityContext?.seccompProfile?.type !== "RuntimeDefault") faults.push("seccompProfile");
  if (pod.hostNetwork || pod.hostPID || pod.hostIPC) faults.push("host namespaces");
  const allowed = ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];
  for (const volume of pod.volumes ?? []) {
    const kinds = Object.keys(volume).filter((key) => key !== "name");
    if (!kinds.every((kind) => allowed.includes(kind))) faults.push(`volume ${volume.name}`);
  }
  return faults.length > 0 ? `pods are forbidden: violates PodSecurity "restricted:latest": ${faults.join(", ")}` : null;
}

function faultsOf({ name, securityContext }: V1Container): string[] {
  const faults: string[] = [];
  if (securityContext?.allowPrivilegeEscalation !== false) faults.push(`allowPrivilegeEscalation != false (${name})`);
  if (!securityContext?.capabilities?.drop?.includes("ALL")) faults.push(`unrestricted capabilities (${name})`);
  if (securityContext?.privileged) faults.push(`privileged (${name})`);
  return faults;
}
