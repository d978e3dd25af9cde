import { MINUTE, SECOND } from "../../clock.ts";
import { anyText, duration, flag, list, matching, oneOf } from "../kinds.ts";
import { variable } from "../variable.ts";

export const KUBERNETES_VARIABLES = {
  kubeconfig: variable<string | null>({
    name: "BERTH_KUBECONFIG",
    kind: anyText,
    default: null,
    defaultHelp: "the kubeconfig that kubectl uses; in a cluster, the pod's service account",
    help: "Kubeconfig file of the cluster in which sandboxes run.",
  }),
  kubernetesNamespace: variable<string | null>({
    name: "BERTH_KUBERNETES_NAMESPACE",
    kind: matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "the name of a namespace"),
    default: null,
    defaultHelp: "the namespace of the server",
    help: "Namespace in which sandboxes run.",
  }),
  kubernetesStorageClass: variable<string | null>({
    name: "BERTH_KUBERNETES_STORAGE_CLASS",
    kind: anyText,
    default: null,
    defaultHelp: "the cluster's default",
    help: "Storage class of the sandboxes' disks.",
  }),
  kubernetesVolumeStorageClass: variable<string | null>({
    name: "BERTH_KUBERNETES_VOLUME_STORAGE_CLASS",
    kind: anyText,
    default: null,
    defaultHelp: "that of the sandboxes' disks",
    help: "Storage class of the partners' volumes.",
  }),
  kubernetesVolumeAccess: variable({
    name: "BERTH_KUBERNETES_VOLUME_ACCESS",
    kind: oneOf("ReadWriteOnce", "ReadWriteMany"),
    default: "ReadWriteOnce",
    help: "Access mode of the partners' volumes. With ReadWriteOnce, all sessions that use a volume at the same time run on one node. Set ReadWriteMany if the storage class supports it.",
  }),
  kubernetesPullSecrets: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_PULL_SECRETS",
    kind: list(anyText),
    default: [],
    defaultHelp: "none",
    help: "Image pull secrets for the sandboxes' images, separated by commas.",
  }),
  kubernetesUserNamespaces: variable({
    name: "BERTH_KUBERNETES_USER_NAMESPACES",
    kind: flag,
    default: false,
    help: "Run each pod in its own user namespace (`hostUsers: false`). The nodes must support it.",
  }),
  kubernetesWarmPools: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_WARM_POOLS",
    kind: list(matching(/^[a-z0-9][a-z0-9-]{0,62}=[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "template=SandboxWarmPool")),
    default: [],
    defaultHelp: "none",
    help: "Templates whose sandboxes come from a warm pool of agent-sandbox, as template=SandboxWarmPool, separated by commas.",
  }),
  kubernetesNodeSelector: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_NODE_SELECTOR",
    kind: list(matching(/^[\w./-]+=[\w.-]*$/, "label=value")),
    default: [],
    defaultHelp: "any node",
    help: "Labels of the nodes on which sandboxes run, as label=value, separated by commas. Example: `kubernetes.io/arch=arm64`.",
  }),
  kubernetesScheduleWaitMs: variable({
    name: "BERTH_KUBERNETES_SCHEDULE_WAIT",
    kind: duration(0, 10 * MINUTE),
    default: 10 * SECOND,
    help: "How long a pod may wait for a node before creating or resuming its session fails with 503. While an autoscaler adds a node, the wait is longer. `0` does not wait, for clusters without an autoscaler.",
  }),
};
