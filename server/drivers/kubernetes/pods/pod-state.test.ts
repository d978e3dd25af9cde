import type { V1Pod } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { isUnschedulable, mayReturn, startFailureOf } from "./pod-state.ts";

const pending = (reason: string, message = ""): V1Pod => ({
  status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason, message }] },
});

test.each([
  ["no node has room", "Unschedulable", "0/3 nodes are available: 3 Insufficient memory.", true],
  ["no node fits", "Unschedulable", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.", true],
  ["its volume is being created", "Unschedulable", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.", false],
  ["its volume claim does not exist yet", "Unschedulable", 'persistentvolumeclaim "files-sbx-1" not found', false],
  ["it has a scheduling gate", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", false],
] as const)("whether a pod counts as unschedulable if %s", (_, reason, message, expected) => {
  expect(isUnschedulable(pending(reason, message))).toBe(expected);
});

const onLostNode = (tolerations?: NonNullable<V1Pod["spec"]>["tolerations"]): V1Pod => ({
  spec: { containers: [], ...(tolerations ? { tolerations } : {}) },
  status: {
    phase: "Running",
    conditions: [
      { type: "ContainersReady", status: "True" },
      { type: "Ready", status: "False", lastTransitionTime: new Date(1_000_000) },
    ],
  },
});
const tolerating = (tolerationSeconds?: number) =>
  onLostNode([
    { key: "node.kubernetes.io/unreachable", effect: "NoExecute", ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }) },
  ]);

test("a pod on a lost node may return until its toleration ends, but not after its eviction", () => {
  expect(mayReturn(tolerating(30), 1_030_000)).toBe(true);
  expect(mayReturn(tolerating(30), 1_046_000)).toBe(false);
  expect(mayReturn(tolerating(), 9_000_000)).toBe(true);
  expect(mayReturn(onLostNode(), 1_016_000)).toBe(false);
  const evicted = tolerating(30);
  evicted.metadata = { deletionTimestamp: new Date() };
  expect(mayReturn(evicted, 1_001_000)).toBe(false);
});

test("a pod whose init container fails says which one, with its exit code and output, whether or not it starts again", () => {
  const terminated = { exitCode: 1, message: "cp: no space\n" };
  const container = { name: "daemon", image: "", imageID: "", ready: false, restartCount: 1 };
  const ended = { phase: "Failed", initContainerStatuses: [{ ...container, state: { terminated } }] };
  expect(startFailureOf({ status: ended })).toEqual({ kind: "failed", reason: "the pod ended: Failed daemon exited with 1: cp: no space" });
  const state = { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } };
  const waiting = { phase: "Pending", initContainerStatuses: [{ ...container, state, lastState: { terminated } }] };
  const reason = "CrashLoopBackOff: back-off 10s: daemon exited with 1: cp: no space";
  expect(startFailureOf({ status: waiting })).toEqual({ kind: "failed", reason });
});

const REFERENCE = 'failed to pull and unpack image "registry.example/a:1": failed to resolve reference "registry.example/a:1"';
test.each([
  ["the registry does not have it (containerd)", "ErrImagePull", `${REFERENCE}: registry.example/a:1: not found`, true],
  ["the registry does not have it (CRI-O)", "ErrImagePull", "reading manifest 1 in registry.example/a: manifest unknown", true],
  ["the repository does not exist", "ErrImagePull", `${REFERENCE}: pull access denied, repository does not exist`, true],
  ["the registry's name is not known yet", "ErrImagePull", `${REFERENCE}: dial tcp: lookup registry.example: no such host`, false],
  ["the registry is busy", "ErrImagePull", `${REFERENCE}: 503 Service Unavailable`, false],
  ["the kubelet tries less often", "ImagePullBackOff", `Back-off pulling image "registry.example/a:1"`, true],
] as const)("whether an image counts as not fetched if %s", (_, reason, message, expected) => {
  const container = { name: "sandbox", image: "", imageID: "", ready: false, restartCount: 0, state: { waiting: { reason, message } } };
  const failure = startFailureOf({ status: { phase: "Pending", containerStatuses: [container] } });
  expect(failure).toEqual(expected ? { kind: "not_fetched", reason: `${reason}: ${message}` } : null);
});
