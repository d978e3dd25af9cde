import type { V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import type { SandboxVolume } from "../../driver.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { eventsOf } from "../cluster/events.ts";
import { volumeClaimsPath, volumeNameOf } from "../cluster/names.ts";

export interface VolumeProblem {
  reason: string;
  // Only an operator can solve it.
  isPermanent: boolean;
}

export interface ProblemDeps {
  cluster: Cluster;
  namespace: string;
}

// Most volumes are mounted sooner, and listing events is expensive.
const CHECK_AFTER_MS = 1_000;
const CHECK_EVERY_MS = 3_000;
// There is no storage class, or not the one of the claim.
const PERMANENT = /storageclass\S* "[^"]*" not found|no storage class is set/i;
const OF_CLAIMS = new Set(["FailedBinding", "ProvisioningFailed"]);
const OF_PODS = new Set(["FailedAttachVolume", "FailedMount"]);

// Returns a function that reports why the volumes of a pod are not mounted, to be called repeatedly while the pod starts.
export function watchVolumes(deps: ProblemDeps, volumes: readonly SandboxVolume[], signal: AbortSignal) {
  let nextMs = performance.now() + CHECK_AFTER_MS;
  let known: VolumeProblem | null = null;
  return async (pod: V1Pod | null): Promise<VolumeProblem | null> => {
    if (volumes.length === 0 || performance.now() < nextMs) return known;
    nextMs = performance.now() + CHECK_EVERY_MS;
    known = (await findUnbound(deps, volumes, signal)) ?? (await findUnmounted(deps, pod, signal));
    return known;
  };
}

// The storage does not provide a volume.
async function findUnbound(deps: ProblemDeps, volumes: readonly SandboxVolume[], signal: AbortSignal): Promise<VolumeProblem | null> {
  for (const { id } of volumes) {
    const claim = await deps.cluster.get<V1PersistentVolumeClaim>(volumeClaimsPath(deps.namespace, volumeNameOf(id)), signal);
    if (!claim || claim.status?.phase === "Bound") continue;
    if (claim.status?.phase === "Lost") return { reason: `${id}: the storage has lost the volume`, isPermanent: true };
    const message = await lastMessage(deps, claim.metadata?.uid, OF_CLAIMS, signal);
    if (message !== undefined) return { reason: `${id}: ${message}`, isPermanent: PERMANENT.test(message) };
  }
  return null;
}

// The node cannot attach or mount a volume, such as one that another node uses.
async function findUnmounted(deps: ProblemDeps, pod: V1Pod | null, signal: AbortSignal): Promise<VolumeProblem | null> {
  if (pod?.status?.phase !== "Pending" || pod.spec?.nodeName === undefined) return null;
  const message = await lastMessage(deps, pod.metadata?.uid, OF_PODS, signal);
  return message === undefined ? null : { reason: message, isPermanent: false };
}

async function lastMessage(deps: ProblemDeps, uid = "", reasons: ReadonlySet<string>, signal: AbortSignal): Promise<string | undefined> {
  return (await eventsOf(deps, uid, signal)).findLast(({ reason }) => reasons.has(reason ?? ""))?.message;
}

export const volumeError = ({ reason, isPermanent }: VolumeProblem): AppError =>
  isPermanent
    ? new AppError("sandbox_failed", {
        message: "The cluster's storage cannot provide a volume of this session; its operator sees why",
        cause: new Error(`kubernetes: ${reason}`),
      })
    : new AppError("capacity_reached", {
        message: "The cluster's storage has not provided a volume of this session in time",
        cause: new Error(`kubernetes: ${reason}`),
      });
