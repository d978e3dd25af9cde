import { createHash } from "node:crypto";
import type { V1Container, V1PersistentVolumeClaimSpec, V1PodSpec } from "@kubernetes/client-node";
import type { Template } from "@berth/contract";
import { DAEMON_PORT, VOLUME } from "../cluster/names.ts";

// The pod of a sandbox: what a namespace with Pod Security `restricted` admits, and less. Pure, so that a test can hold
// every line of it.
export interface PodSettings {
  // For templates that name no image.
  image: string;
  // Where the daemon finds the server's way out, `address:port`; null for none. An address, because the pod has no names.
  egress: string | null;
  // Pods in a user namespace of their own, where nodes can.
  userNamespace: boolean;
  imagePullSecrets: string[];
  storageClass: string | null;
  // Labels of the nodes that sandboxes may run on.
  nodeSelector: Record<string, string>;
}

// Whom the daemon lets in: who has the token with this hash or, in a pod that waits in a warm pool for its session, whoever
// a server with this key will name.
export type PodFor = { template: Template } & ({ tokenHash: string } | { adoptKey: string });

// How long a lost node keeps its pods before others may take over.
const LOST_NODE_SECONDS = 30;
const GRACE_SECONDS = 5;

export function describePod(spec: PodFor, settings: PodSettings, restartPolicy: "Never" | "Always"): V1PodSpec {
  const { template } = spec;
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The pause process becomes the init of the sandbox: the daemon does not reap other people's children.
    shareProcessNamespace: true,
    restartPolicy,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    // Names are resolved by the server's proxy; the sandbox itself asks nobody.
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["127.0.0.1"] },
    tolerations: ["not-ready", "unreachable"].map((trouble) => ({
      key: `node.kubernetes.io/${trouble}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: LOST_NODE_SECONDS,
    })),
    containers: [describeContainer(spec, settings)],
    // In memory, because a folder on the node's disk that grows past its limit costs the whole pod.
    volumes: [{ name: "tmp", emptyDir: { medium: "Memory", sizeLimit: `${template.tmpMb}Mi` } }],
    ...(settings.userNamespace ? { hostUsers: false } : {}),
    ...(Object.keys(settings.nodeSelector).length > 0 ? { nodeSelector: settings.nodeSelector } : {}),
    ...(template.runtime ? { runtimeClassName: template.runtime } : {}),
    ...(settings.imagePullSecrets.length > 0 ? { imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })) } : {}),
  };
}

function describeContainer(spec: PodFor, { image, egress }: PodSettings): V1Container {
  const { template } = spec;
  const env = {
    // A hash lets nobody in, and neither does a public key, so both may stand in the pod's spec; secrets reach the daemon
    // after it has started.
    ...("tokenHash" in spec ? { BERTH_TOKEN_HASH: spec.tokenHash } : { BERTH_ADOPT_KEY: spec.adoptKey }),
    BERTH_LISTEN: `0.0.0.0:${DAEMON_PORT}`,
    BERTH_WORKSPACE: "/workspace",
    BERTH_HOME: "/home/user",
    ...(egress === null ? {} : { BERTH_EGRESS: egress }),
    HOME: "/home/user",
    LANG: "C.UTF-8",
    PATH: "/usr/local/bin:/usr/bin:/bin:/opt/berth/bin",
  };
  return {
    name: "sandbox",
    image: template.image ?? image,
    imagePullPolicy: "IfNotPresent",
    command: ["/opt/berth/bin/node", "/opt/berth/daemon.cjs"],
    workingDir: "/workspace",
    env: [
      ...Object.entries(env).map(([name, value]) => ({ name, value })),
      ...("tokenHash" in spec
        ? []
        : [{ name: "BERTH_ADOPT_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.uid" } } }]),
    ],
    ports: [{ name: "daemon", containerPort: DAEMON_PORT }],
    readinessProbe: { tcpSocket: { port: DAEMON_PORT }, periodSeconds: 1, failureThreshold: 3 },
    resources: {
      // Most sessions idle most of the time: nodes are packed by a share of what a sandbox may use at most.
      requests: { cpu: `${Math.ceil(template.cpus * 100)}m`, memory: `${Math.ceil(template.memoryMb / 4)}Mi` },
      limits: { cpu: `${Math.ceil(template.cpus * 1000)}m`, memory: `${template.memoryMb}Mi`, "ephemeral-storage": "256Mi" },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [
      { name: VOLUME, mountPath: "/workspace", subPath: "workspace" },
      { name: VOLUME, mountPath: "/home/user", subPath: "home" },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

export function describeVolumeClaim({ template }: { template: Template }, { storageClass }: PodSettings): V1PersistentVolumeClaimSpec {
  return {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: `${template.diskMb}Mi` } },
    ...(storageClass === null ? {} : { storageClassName: storageClass }),
  };
}

export const fingerprint = (pod: V1PodSpec) => createHash("sha256").update(JSON.stringify(pod)).digest("hex").slice(0, 32);
