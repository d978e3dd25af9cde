import { isAppError } from "@berth/contract";
import type { V1Node, V1StorageClass } from "@kubernetes/client-node";
import type { DriverProbe } from "../driver.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { connectCluster, type Connection, type ConnectOptions } from "./cluster/connect.ts";
import { EXTENSIONS } from "./cluster/names.ts";
import { isAllowed } from "./cluster/permissions.ts";
import { warmPoolPath, type SandboxWarmPool } from "./warm-pools/warm-pools.ts";

export interface ProbeOptions extends ConnectOptions {
  storageClass: string | null;
  // null: the same for the volumes of partners.
  volumeStorageClass?: string | null;
  // The SandboxWarmPools that sandboxes are configured to come from.
  warmPools?: readonly string[];
}

// Checks whether there is a cluster and whether the server has all permissions that the driver needs. Reports everything that is
// missing in one message.
export async function probeKubernetes(options: ProbeOptions): Promise<DriverProbe> {
  const usable = (reason: string): DriverProbe => ({ driver: "kubernetes", usable: true, reason });
  const unusable = (reason: string): DriverProbe => ({ driver: "kubernetes", usable: false, reason });
  let connection: Connection;
  try {
    connection = await connectCluster(options);
  } catch (error) {
    return unusable(`No kubeconfig can be read (${messageOf(error)}). Set BERTH_KUBECONFIG, or run the server inside the cluster.`);
  }
  const { cluster, namespace, server } = connection;
  await using _ = cluster;
  try {
    const signal = AbortSignal.timeout(8_000);
    const version = await cluster.get<{ gitVersion: string }>("/version", signal);
    const crds = (await cluster.get("/apis/agents.x-k8s.io/v1beta1", signal)) !== null;
    const nodes = await checkNodes(cluster, signal);
    const pools = await checkPools(cluster, namespace, crds, options.warmPools ?? [], signal);
    const volumeFaults = await missingPermissions(cluster, namespace, FOR_VOLUMES, signal);
    const missing = [
      ...(await missingPermissions(cluster, namespace, [...(crds ? FOR_SANDBOXES : FOR_STATEFUL_SETS), ...ALWAYS], signal)),
      ...pools.missing,
      ...(await missingStorage(
        cluster,
        [options.storageClass, ...(options.volumeStorageClass ? [options.volumeStorageClass] : [])],
        signal,
      )),
      ...nodes.missing,
    ];
    if (missing.length > 0) return unusable(`The cluster at ${server} answers, but ${missing.join("; ")}.`);
    const workload = crds ? "agent-sandbox is installed" : "agent-sandbox is not installed, so sandboxes are StatefulSets";
    const notes = [
      workload,
      ...pools.notes,
      ...nodes.notes,
      ...volumeFaults.map((fault) => `sessions cannot mount volumes, because ${fault}`),
    ];
    return usable(`Kubernetes ${version?.gitVersion ?? ""} at ${server}, namespace ${namespace}; ${notes.join("; ")}.`);
  } catch (error) {
    return unusable(`No cluster answers at ${server} (${messageOf(error)}).`);
  }
}

interface Findings {
  missing: string[];
  notes: string[];
}

interface RequiredPermissions {
  group: string;
  resource: string;
  verbs: readonly string[];
}

const ALL = ["create", "get", "list", "patch", "delete"];
const FOR_SANDBOXES: RequiredPermissions[] = [{ group: "agents.x-k8s.io", resource: "sandboxes", verbs: ALL }];
const FOR_STATEFUL_SETS: RequiredPermissions[] = [
  { group: "apps", resource: "statefulsets", verbs: ALL },
  { group: "", resource: "events", verbs: ["list"] },
];
const ALWAYS: RequiredPermissions[] = [
  { group: "", resource: "pods", verbs: ["get", "list", "watch", "delete"] },
  { group: "", resource: "persistentvolumeclaims", verbs: ["delete"] },
];
// Without these, everything but the volumes of partners works.
const FOR_VOLUMES: RequiredPermissions[] = [{ group: "", resource: "persistentvolumeclaims", verbs: ["create", "get", "list"] }];
const group = "extensions.agents.x-k8s.io";
const FOR_POOLS: RequiredPermissions[] = [
  { group, resource: "sandboxclaims", verbs: ["create", "get", "list", "delete"] },
  { group, resource: "sandboxwarmpools", verbs: ["get"] },
  { group, resource: "sandboxtemplates", verbs: ["create", "patch"] },
];

async function missingPermissions(
  cluster: Cluster,
  namespace: string,
  needed: RequiredPermissions[],
  signal: AbortSignal,
): Promise<string[]> {
  const refused = await Promise.all(
    needed.map(async ({ verbs, ...what }) => {
      const allowed = await Promise.all(verbs.map((verb) => isAllowed(cluster, { namespace, ...what, verb }, signal)));
      const lacking = verbs.filter((_, i) => !allowed[i]);
      return lacking.length > 0
        ? [`the server may not ${lacking.join(", ")} ${what.resource} in ${namespace} (see deploy/kubernetes/role.yaml)`]
        : [];
    }),
  );
  return refused.flat();
}

async function checkPools(
  cluster: Cluster,
  namespace: string,
  crds: boolean,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Findings> {
  if (names.length === 0) return { missing: [], notes: [] };
  if (!crds || !(await cluster.get(EXTENSIONS, signal)))
    return {
      missing: ["BERTH_KUBERNETES_WARM_POOLS needs agent-sandbox with its extensions (extensions.agents.x-k8s.io/v1beta1)"],
      notes: [],
    };
  const missing = await missingPermissions(cluster, namespace, FOR_POOLS, signal);
  if (missing.length > 0) return { missing, notes: [] };
  const pools = await Promise.all(names.map((name) => cluster.get<SandboxWarmPool>(warmPoolPath(namespace, name), signal)));
  return {
    missing: names
      .filter((_, i) => !pools[i])
      .map((name) => `there is no SandboxWarmPool ${name} in ${namespace} (see deploy/kubernetes/warm-pool.yaml)`),
    notes: names.map((name, i) =>
      pools[i]?.spec.updateStrategy?.type === "Recreate"
        ? `sandboxes come from the SandboxWarmPool ${name}`
        : `the SandboxWarmPool ${name} returns outdated sandboxes after an upgrade, because its updateStrategy is not Recreate`,
    ),
  };
}

// Sandboxes have a limit for ephemeral-storage and therefore request it. A kubelet that does not measure it
// (`localStorageCapacityIsolation: false`) offers none, so the scheduler never places a sandbox on its node.
async function checkNodes(cluster: Cluster, signal: AbortSignal): Promise<Findings> {
  const nodes = await cluster.listIfAllowed<V1Node>("/api/v1/nodes", {}, signal);
  if (nodes === null)
    return { missing: [], notes: ["the account may not list nodes, so it is unknown whether they offer ephemeral-storage"] };
  const open = nodes.filter(({ spec }) => !spec?.unschedulable && !spec?.taints?.some(({ effect }) => effect.startsWith("No")));
  const without = open.filter(({ status }) => !Number.parseInt(status?.allocatable?.["ephemeral-storage"] ?? "0", 10));
  if (without.length === 0) return { missing: [], notes: [] };
  if (without.length === open.length)
    return { missing: ["none of its nodes offers ephemeral-storage, which every sandbox requests (see docs/kubernetes.md)"], notes: [] };
  const names = without.map(({ metadata }) => metadata?.name).join(", ");
  return { missing: [], notes: [`no sandbox fits on ${names}, which offers no ephemeral-storage (see docs/kubernetes.md)`] };
}

// Storage classes belong to the cluster, not to the namespace. If our account may not list them, the check is skipped.
async function missingStorage(cluster: Cluster, wanted: (string | null)[], signal: AbortSignal): Promise<string[]> {
  const classes = await cluster.listIfAllowed<V1StorageClass>("/apis/storage.k8s.io/v1/storageclasses", {}, signal);
  if (classes === null) return [];
  const names = classes.map(({ metadata }) => metadata?.name);
  const hasDefault = classes.some(({ metadata }) => metadata?.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true");
  return wanted.flatMap((name) => {
    if (name !== null) return names.includes(name) ? [] : [`there is no storage class ${name} (there are: ${names.join(", ") || "none"})`];
    return hasDefault ? [] : ["it has no default storage class (set BERTH_KUBERNETES_STORAGE_CLASS)"];
  });
}

function messageOf(error: unknown): string {
  const cause = isAppError(error) ? (error.cause ?? error) : error;
  const { code, message } = cause as { code?: string; message?: string };
  return code ?? message ?? String(cause);
}
