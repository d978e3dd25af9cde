import type { V1Pod, V1PodCondition } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { ANNOTATION } from "./cluster/names.ts";
import { conditionOf } from "./condition.ts";
import { sandboxKind, type Workload } from "./workloads/workload-kinds.ts";

const NOW_MS = 1_000_000;
const running: Workload = { metadata: { annotations: { [ANNOTATION.run]: "pod.0" } }, spec: { operatingMode: "Running" } };
const podWith = ({ uid = "pod", phase = "Running", conditions = [], tolerationSeconds = 0 }: PodState = {}): V1Pod => ({
  metadata: { uid },
  spec: { containers: [], tolerations: [{ key: "node.kubernetes.io/unreachable", tolerationSeconds }] },
  status: { phase, conditions },
});
const alive = podWith();
const onLostNode = (tolerationSeconds: number) =>
  podWith({
    tolerationSeconds,
    conditions: [
      { type: "ContainersReady", status: "True" },
      { type: "Ready", status: "False", lastTransitionTime: new Date(NOW_MS) },
    ],
  });

interface PodState {
  uid?: string;
  phase?: string;
  conditions?: V1PodCondition[];
  tolerationSeconds?: number;
}

test.each<[string, Workload | null, V1Pod | null, string]>([
  ["absent without a workload", null, null, "absent"],
  ["absent if the workload is being deleted", { ...running, metadata: { deletionTimestamp: new Date() } }, alive, "absent"],
  ["stopped if it is suspended", { ...running, spec: { operatingMode: "Suspended" } }, alive, "stopped"],
  ["stopped without a pod", running, null, "stopped"],
  ["stopped if the pod has ended", running, podWith({ phase: "Failed" }), "stopped"],
  ["running if the pod is alive", running, alive, "running"],
  ["running while the first start is in progress", { ...running, metadata: {} }, alive, "running"],
  ["replaced if another pod runs", running, podWith({ uid: "another" }), "replaced"],
  ["unreachable while its node may return", running, onLostNode(30), "unreachable"],
  ["stopped once its node cannot return in time", running, onLostNode(-30), "stopped"],
])("a sandbox is %s", (_name, workload, pod, expected) => {
  expect(conditionOf(sandboxKind, workload, pod, NOW_MS)).toBe(expected);
});
