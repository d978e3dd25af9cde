import type { KubernetesObject, V1Condition, V1PodSpec } from "@kubernetes/client-node";
import type { SandboxSpec } from "../../driver.ts";
import { ANNOTATION, LABEL, labelsOf, VOLUME } from "../cluster/names.ts";
import { describeVolumeClaim, describePod, fingerprint, type PodSettings } from "../pods/pod-spec.ts";
import { mountLabels } from "../pods/pod-volumes.ts";

// The object that owns a sandbox's pod and volume. There are two kinds: a `Sandbox` if agent-sandbox is installed in the cluster,
// otherwise a StatefulSet with zero or one replica. This interface contains everything in which they differ.
export interface WorkloadKind {
  path(namespace: string, name?: string): string;
  describe(spec: SandboxSpec, name: string, installation: string, settings: PodSettings, shutdownAt: Date): Workload;
  // A merge patch for a Sandbox from a warm pool, which applies every field of `describe` that can be changed. The pod that runs stays;
  // the next pod starts with the token hash.
  adopt(workload: Workload): object;
  // A merge patch that starts the sandbox. It contains the current pod spec, because the template or the server may have changed
  // while the sandbox was stopped.
  run(workload: Workload, shutdownAt: Date): object;
  // A merge patch that stops the sandbox and keeps its volume.
  suspend: object;
  isSuspended(workload: Workload): boolean;
  // A merge patch that postpones the shutdown time. null if the kind has none.
  extend(shutdownAt: Date): object | null;
  shutdownAt(workload: Workload): Date | null;
  podName(name: string): string;
  volumeClaimName(name: string): string;
}

export interface Workload extends KubernetesObject {
  spec: Record<string, unknown>;
  status?: { conditions?: V1Condition[] };
}

export const sandboxKind: WorkloadKind = {
  path: (namespace, name) => `/apis/agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxes${name ? `/${name}` : ""}`,
  describe(spec, name, installation, settings, shutdownAt) {
    // Kubernetes must not restart the pod by itself: the session's processes are gone, and only the server can send the new daemon its
    // environment.
    const pod = describePod(spec, settings, "Never");
    return {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: metadata(name, installation, pod),
      spec: {
        operatingMode: "Running",
        // The server dials the pod's address.
        service: false,
        shutdownTime: shutdownAt.toISOString(),
        shutdownPolicy: "Retain",
        podTemplate: { metadata: { labels: podLabels(spec, name, installation) }, spec: pod },
        volumeClaimTemplates: claims(spec, name, installation, settings),
      },
    };
  },
  adopt: ({ metadata: meta, spec }) => ({
    metadata: { labels: meta!.labels, annotations: meta!.annotations },
    spec: {
      shutdownTime: spec["shutdownTime"],
      shutdownPolicy: spec["shutdownPolicy"],
      podTemplate: { spec: podOf(spec["podTemplate"]) },
    },
  }),
  run: ({ metadata: meta, spec }, shutdownAt) => ({
    metadata: { annotations: { [ANNOTATION.spec]: meta!.annotations![ANNOTATION.spec], [ANNOTATION.run]: null } },
    // Without the pod's labels, because those of a claimed Sandbox come from its claim.
    spec: { operatingMode: "Running", shutdownTime: shutdownAt.toISOString(), podTemplate: { spec: podOf(spec["podTemplate"]) } },
  }),
  suspend: { spec: { operatingMode: "Suspended" } },
  isSuspended: ({ spec }) => spec["operatingMode"] === "Suspended",
  extend: (shutdownAt) => ({ spec: { shutdownTime: shutdownAt.toISOString() } }),
  shutdownAt: ({ spec }) => (typeof spec["shutdownTime"] === "string" ? new Date(spec["shutdownTime"]) : null),
  podName: (name) => name,
  volumeClaimName: (name) => `${VOLUME}-${name}`,
};

export const statefulSetKind: WorkloadKind = {
  path: (namespace, name) => `/apis/apps/v1/namespaces/${namespace}/statefulsets${name ? `/${name}` : ""}`,
  describe(spec, name, installation, settings) {
    const pod = describePod(spec, settings, "Always");
    return {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: metadata(name, installation, pod),
      spec: {
        replicas: 1,
        serviceName: name,
        selector: { matchLabels: { [LABEL.sandbox]: name } },
        template: { metadata: { labels: podLabels(spec, name, installation) }, spec: pod },
        volumeClaimTemplates: claims(spec, name, installation, settings),
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
      },
    };
  },
  adopt: () => ({}),
  run: ({ metadata: meta, spec }) => ({
    metadata: { annotations: { [ANNOTATION.spec]: meta!.annotations![ANNOTATION.spec], [ANNOTATION.run]: null } },
    spec: { replicas: 1, template: spec["template"] },
  }),
  suspend: { spec: { replicas: 0 } },
  isSuspended: ({ spec }) => spec["replicas"] === 0,
  extend: () => null,
  shutdownAt: () => null,
  podName: (name) => `${name}-0`,
  volumeClaimName: (name) => `${VOLUME}-${name}-0`,
};

const podLabels = ({ volumes }: SandboxSpec, name: string, installation: string) => ({
  ...labelsOf(installation, name),
  ...mountLabels(volumes),
});

const podOf = (podTemplate: unknown) => (podTemplate as { spec: V1PodSpec }).spec;

const metadata = (name: string, installation: string, pod: V1PodSpec) => ({
  name,
  labels: labelsOf(installation, name),
  annotations: { [ANNOTATION.spec]: fingerprint(pod) },
});

const claims = (spec: SandboxSpec, name: string, installation: string, settings: PodSettings) => [
  { metadata: { name: VOLUME, labels: labelsOf(installation, name) }, spec: describeVolumeClaim(spec, settings) },
];
