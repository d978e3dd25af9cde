import { isSandboxId, isVolumeId, type SandboxId, type VolumeId } from "@berth/contract";

// Names, labels and paths in the cluster. The name of an object depends only on the sandbox id, so a repeated create finds the
// object of the first call.
export const DAEMON_PORT = 7700;
export const VOLUME = "files";

export const LABEL = {
  installation: "berth.dev/installation",
  sandbox: "berth.dev/sandbox",
  // Labels the claim of a partner's volume.
  volume: "berth.dev/volume",
} as const;
export const ANNOTATION = {
  // The fingerprint of the settings that the workload was created with.
  spec: "berth.dev/spec",
  // The run that the server last started (see runIdOf). Absent while a start is in progress.
  run: "berth.dev/run",
  // Replaces the label of the same name on a pod that comes from a warm pool.
  sandbox: "berth.dev/sandbox",
} as const;

// The API group of agent-sandbox for warm pools and claims.
export const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1";

export const nameOf = (id: SandboxId) => id.replace("_", "-");

export function idOf(name: string | undefined): SandboxId | null {
  const id = name?.replace("-", "_") ?? "";
  return isSandboxId(id) ? id : null;
}

export const volumeNameOf = (id: VolumeId) => id.replace("_", "-");

export function volumeIdOf(name: string | undefined): VolumeId | null {
  const id = name?.replace("-", "_") ?? "";
  return isVolumeId(id) ? id : null;
}

// A label of every pod that mounts the volume. A pod mounts several, so each has its own label.
export const mountsLabel = (id: VolumeId) => `volume.berth.dev/${volumeNameOf(id)}`;

// The labels of all our objects, including pods that wait in a warm pool.
export const commonLabels = (installation: string) => ({
  "app.kubernetes.io/name": "berth-sandbox",
  "app.kubernetes.io/managed-by": "berth",
  [LABEL.installation]: installation,
});

export const labelsOf = (installation: string, name: string) => ({ ...commonLabels(installation), [LABEL.sandbox]: name });

export const podsPath = (namespace: string, name?: string) => `/api/v1/namespaces/${namespace}/pods${name ? `/${name}` : ""}`;
export const volumeClaimsPath = (namespace: string, name?: string) =>
  `/api/v1/namespaces/${namespace}/persistentvolumeclaims${name ? `/${name}` : ""}`;
export const eventsPath = (namespace: string) => `/api/v1/namespaces/${namespace}/events`;
