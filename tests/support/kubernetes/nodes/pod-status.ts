import type { V1PodSpec } from "@kubernetes/client-node";
import type { InitFailure } from "./pod-process.ts";

// The reports of a node or the scheduler about a pod.
export interface PodStatus {
  phase: string;
  podIP?: string;
  conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
  state?: object;
  lastState?: object;
}

const SCHEDULED = { type: "PodScheduled", status: "True" };

export const unschedulableStatus = (message: string): PodStatus => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
});

// The registry does not have the image.
export function statusWithoutImage(image: string): PodStatus {
  const lookup = `failed to do request: Head "https://${image.replace("/", "/v2/")}": dial tcp: lookup registry: no such host`;
  const message = `Back-off pulling image "${image}": ErrImagePull: failed to pull and unpack image "${image}": ${lookup}`;
  const waiting = { waiting: { reason: "ImagePullBackOff", message } };
  return {
    phase: "Pending",
    conditions: [SCHEDULED],
    containerStatuses: [{ name: "sandbox", ready: false, restartCount: 0, state: waiting }],
  };
}

interface Run {
  ip: string;
  restarts: number;
}

export function runningStatus({ ip, restarts }: Run, { ready }: { ready: boolean }): PodStatus {
  const condition = { status: ready ? "True" : "False", lastTransitionTime: new Date().toISOString() };
  return {
    phase: "Running",
    podIP: ip,
    conditions: [SCHEDULED, { type: "ContainersReady", ...condition }, { type: "Ready", ...condition }],
    containerStatuses: [{ name: "sandbox", ready, restartCount: restarts, state: { running: {} } }],
  };
}

export function endedStatus({ ip, restarts }: Run, exitCode: number): PodStatus {
  const containerStatuses = [{ name: "sandbox", ready: false, restartCount: restarts, state: { terminated: { exitCode } } }];
  return { phase: exitCode === 0 ? "Succeeded" : "Failed", podIP: ip, containerStatuses };
}

// The node no longer reports, so the control plane sets the pod to not ready.
export function silentStatus(last: PodStatus): PodStatus {
  const status = structuredClone(last);
  for (const condition of status.conditions ?? [])
    if (condition.type === "Ready") Object.assign(condition, { status: "False", lastTransitionTime: new Date().toISOString() });
  return status;
}

// The status of a pod whose init container has failed.
export function failedInitStatus({ container: name, exitCode, message }: InitFailure, { restartPolicy }: V1PodSpec): PodStatus {
  const terminated = { exitCode, reason: "Error", message };
  const container = { name, ready: false, restartCount: 0 };
  return restartPolicy === "Never"
    ? { phase: "Failed", initContainerStatuses: [{ ...container, state: { terminated } }] }
    : {
        phase: "Pending",
        initContainerStatuses: [{ ...container, state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } }],
      };
}
