import { isSandboxId, type SandboxId } from "@berth/contract";

// Names, labels and paths in the cluster. An object's name follows from the sandbox's id alone, so that a repeated create
// meets the first one.
export const DAEMON_PORT = 7700;
export const VOLUME = "files";

export const LABEL = { installation: "berth.dev/installation", sandbox: "berth.dev/sandbox" } as const;
export const ANNOTATION = {
  // Which settings the workload was made from.
  spec: "berth.dev/spec",
  // Which run of which pod the server has talked to; absent while a start is under way.
  run: "berth.dev/run",
  // On a pod that came out of a warm pool, where it takes the place of the label.
  sandbox: "berth.dev/sandbox",
} as const;

// Beside the Sandbox itself, agent-sandbox has its pools here.
export const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1";

export const nameOf = (id: SandboxId) => id.replace("_", "-");

export function idOf(name: string | undefined): SandboxId | null {
  const id = name?.replace("-", "_") ?? "";
  return isSandboxId(id) ? id : null;
}

// What all of ours have in common, also those that wait in a warm pool.
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
