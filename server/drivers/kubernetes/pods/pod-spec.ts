import { createHash } from "node:crypto";
import { CLEARED_VARIABLES } from "../../cleared-variables.ts";
import type { V1Container, V1PersistentVolumeClaimSpec, V1PodSpec, V1SecurityContext } from "@kubernetes/client-node";
import type { Template, VolumeId } from "@berth/contract";
import type { SandboxVolume } from "../../driver.ts";
import { DAEMON_PORT, VOLUME } from "../cluster/names.ts";
import { describeAffinity, describeMounts, describeVolumes, mountPointScript, pathsInHome } from "./pod-volumes.ts";

// The pod of a sandbox. It meets the Pod Security level `restricted`, and is stricter. A pure function, so that a test can check
// every field.
export interface PodSettings {
  // The image of templates that name none. It has the daemon.
  image: string;
  // The images of templates have the daemon too, so that it is copied only into those of repositories.
  templatesHaveDaemon: boolean;
  // The `address:port` of the server's egress proxy. null for no egress. Not a name, because pods have no resolver.
  egress: string | null;
  // Run pods in their own user namespace, which the nodes must support.
  userNamespace: boolean;
  imagePullSecrets: string[];
  storageClass: string | null;
  // Labels of the nodes that sandboxes may run on.
  nodeSelector: Record<string, string>;
  // Used by a new volume that starts with a snapshot.
  claimFields?: Pick<V1PersistentVolumeClaimSpec, "dataSource" | "resources">;
  // The pod must run on the node of the pods that mount these volumes.
  sameNodeAs?: readonly VolumeId[];
}

// The daemon accepts callers whose token has this hash. A pod in a warm pool has no token yet; its daemon accepts a token
// hash that is signed with the private key of `adoptKey` (see adoption.ts).
export type PodFor = { template: Template; image?: string | undefined; volumes?: readonly SandboxVolume[] } & (
  | { tokenHash: string }
  | { adoptKey: string }
);

// How long pods stay on a node that does not answer, before the control plane evicts them.
const LOST_NODE_SECONDS = 30;
const GRACE_SECONDS = 5;
const DAEMON_SPACE = "1Gi";
// The pod's status then has the last output of a container that has failed, for the server's log.
const TERMINATION_MESSAGE = "FallbackToLogsOnError";

const CONTAINER_SECURITY: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  privileged: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

export function describePod(spec: PodFor, settings: PodSettings, restartPolicy: "Never" | "Always"): V1PodSpec {
  const { template, volumes = [] } = spec;
  const own = ownImage(spec, settings);
  const withDaemon = (settings.templatesHaveDaemon ? template.image : undefined) ?? settings.image;
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Makes the pause process the init of the sandbox, because the daemon does not reap orphaned processes.
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
    // The egress proxy resolves names, so sandboxes need no DNS.
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["127.0.0.1"] },
    tolerations: ["not-ready", "unreachable"].map((taint) => ({
      key: `node.kubernetes.io/${taint}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: LOST_NODE_SECONDS,
    })),
    // This is never absent, because a merge patch would keep the old value.
    initContainers: [
      ...(own === withDaemon ? [] : [describeDaemonCopy(withDaemon)]),
      ...(pathsInHome(volumes).length === 0 ? [] : [describeMountPoints(withDaemon, volumes)]),
    ],
    containers: [describeContainer(spec, settings, { getsDaemon: own !== withDaemon })],
    volumes: [
      // This folder is in memory, because the kubelet evicts a pod whose emptyDir on disk exceeds its limit.
      { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: `${template.tmpMb}Mi` } },
      ...(own === withDaemon ? [] : [{ name: "daemon", emptyDir: { sizeLimit: DAEMON_SPACE } }]),
      ...describeVolumes(volumes),
    ],
    ...(volumes.length > 0 ? { affinity: describeAffinity(settings.sameNodeAs ?? []) } : {}),
    ...(settings.userNamespace ? { hostUsers: false } : {}),
    ...(Object.keys(settings.nodeSelector).length > 0 ? { nodeSelector: settings.nodeSelector } : {}),
    ...(template.runtime ? { runtimeClassName: template.runtime } : {}),
    ...(settings.imagePullSecrets.length > 0 ? { imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })) } : {}),
  };
}

const ownImage = (spec: PodFor, { image }: PodSettings) => spec.image ?? spec.template.image ?? image;

// Copies the daemon from an image that has it. Without the attributes of the folder itself
// (`cp -a`): it belongs to root, so user 1000 may write in it but not set its times.
function describeDaemonCopy(image: string): V1Container {
  return {
    name: "daemon",
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["/bin/cp", "-dR", "/opt/berth/.", "/daemon"],
    terminationMessagePolicy: TERMINATION_MESSAGE,
    resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1000m", memory: "256Mi", "ephemeral-storage": DAEMON_SPACE } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [{ name: "daemon", mountPath: "/daemon" }],
  };
}

// The container runtime would create the mount points in the home, and the folders above them, as root.
function describeMountPoints(image: string, volumes: readonly SandboxVolume[]): V1Container {
  return {
    name: "mount-points",
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["/bin/sh", "-c", mountPointScript, "mount-points", ...pathsInHome(volumes)],
    terminationMessagePolicy: TERMINATION_MESSAGE,
    env: [{ name: "HOME", value: "/home/user" }],
    resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1000m", memory: "64Mi", "ephemeral-storage": "16Mi" } },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [{ name: VOLUME, mountPath: "/home/user", subPath: "home" }],
  };
}

function describeContainer(spec: PodFor, settings: PodSettings, { getsDaemon }: { getsDaemon: boolean }): V1Container {
  const { egress } = settings;
  const { template } = spec;
  const env = {
    // Neither the hash nor the public key is secret, so both may be in the pod's spec. Secrets are sent to the daemon after it has
    // started.
    ...("tokenHash" in spec ? { BERTH_TOKEN_HASH: spec.tokenHash } : { BERTH_ADOPT_KEY: spec.adoptKey }),
    BERTH_LISTEN: `0.0.0.0:${DAEMON_PORT}`,
    BERTH_WORKSPACE: "/workspace",
    BERTH_HOME: "/home/user",
    ...(egress === null ? {} : { BERTH_EGRESS: egress }),
    HOME: "/home/user",
    ...CLEARED_VARIABLES,
    // PATH and LANG are those of the image; init.sh adds our programs.
  };
  return {
    name: "sandbox",
    image: ownImage(spec, settings),
    imagePullPolicy: "IfNotPresent",
    command: ["/opt/berth/lib/sh", "/opt/berth/init.sh"],
    terminationMessagePolicy: TERMINATION_MESSAGE,
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
      // Requests are a fraction of the limits, because most sessions are idle most of the time.
      requests: { cpu: `${Math.ceil(template.cpus * 100)}m`, memory: `${Math.ceil(template.memoryMb / 4)}Mi` },
      limits: { cpu: `${Math.ceil(template.cpus * 1000)}m`, memory: `${template.memoryMb}Mi`, "ephemeral-storage": "256Mi" },
    },
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: VOLUME, mountPath: "/workspace", subPath: "workspace" },
      { name: VOLUME, mountPath: "/home/user", subPath: "home" },
      { name: "tmp", mountPath: "/tmp" },
      ...(getsDaemon ? [{ name: "daemon", mountPath: "/opt/berth", readOnly: true }] : []),
      ...describeMounts(spec.volumes ?? []),
    ],
  };
}

export function describeVolumeClaim(
  { template }: { template: Template },
  { storageClass, claimFields }: PodSettings,
): V1PersistentVolumeClaimSpec {
  return {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: `${template.diskMb}Mi` } },
    ...claimFields,
    ...(storageClass === null ? {} : { storageClassName: storageClass }),
  };
}

// Without the affinity, which depends on the other pods that run now.
export function fingerprint(pod: V1PodSpec): string {
  const fields = Object.entries(pod).filter(([name]) => name !== "affinity");
  return createHash("sha256")
    .update(JSON.stringify(Object.fromEntries(fields)))
    .digest("hex")
    .slice(0, 32);
}
