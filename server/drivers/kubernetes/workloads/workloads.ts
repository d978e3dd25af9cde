import type { Claims } from "../warm-pools/claims.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { LABEL } from "../cluster/names.ts";
import type { Workload, WorkloadKind } from "./workload-kinds.ts";

// The workloads of this installation, each by the name that follows from its sandbox's id. That is the object's own name,
// except for a Sandbox that came out of a warm pool: such a one is known by its label.
export interface Workloads {
  read(name: string, signal: AbortSignal): Promise<Workload | null>;
  // A merge patch. null when there is no such workload.
  change(name: string, patch: object, signal: AbortSignal): Promise<Workload | null>;
  // What the workload is really called.
  objectOf(name: string, signal: AbortSignal): Promise<string>;
  podOf(name: string, signal: AbortSignal): Promise<string>;
  // Makes the Sandbox `object` known under `name`, by a patch that labels it.
  name(name: string, object: string, patch: object, signal: AbortSignal): Promise<Workload | null>;
  list(signal: AbortSignal): Promise<Workload[]>;
  remove(name: string, object: string, signal: AbortSignal): Promise<void>;
}

export interface WorkloadsOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
  kind: WorkloadKind;
  // null where no sandbox can have come from a warm pool, so that every name is the object's own.
  claims: Claims | null;
}

export function createWorkloads({ cluster, namespace, installation, kind, claims }: WorkloadsOptions): Workloads {
  const path = (object?: string) => kind.path(namespace, object);
  const ours = `${LABEL.installation}=${installation}`;
  // A Sandbox never changes its name, so what was found once is asked for directly.
  const objects = new Map<string, string>();

  async function read(name: string, signal: AbortSignal): Promise<Workload | null> {
    const object = claims ? objects.get(name) : name;
    if (object === undefined) return await find(name, signal);
    const workload = await cluster.get<Workload>(path(object), signal);
    if (!workload) objects.delete(name);
    return workload;
  }

  async function find(name: string, signal: AbortSignal): Promise<Workload | null> {
    const { items } = await cluster.list<Workload>(path(), { labelSelector: `${ours},${LABEL.sandbox}=${name}` }, signal);
    const object = items[0]?.metadata?.name;
    if (object !== undefined) objects.set(name, object);
    return items[0] ?? null;
  }

  async function objectOf(name: string, signal: AbortSignal): Promise<string> {
    if (!claims) return name;
    return objects.get(name) ?? (await find(name, signal))?.metadata?.name ?? name;
  }

  return {
    read,
    objectOf,
    podOf: async (name, signal) => kind.podName(await objectOf(name, signal)),
    change: async (name, patch, signal) => cluster.patch<Workload>(path(await objectOf(name, signal)), patch, signal),

    async name(name, object, patch, signal) {
      const workload = await cluster.patch<Workload>(path(object), patch, signal);
      if (workload) objects.set(name, object);
      return workload;
    },

    async list(signal) {
      const { items } = await cluster.list<Workload>(path(), { labelSelector: ours }, signal);
      // Those that other servers have destroyed in the meantime.
      const there = new Set(items.map(({ metadata }) => metadata?.name));
      for (const [name, object] of objects) if (!there.has(object)) objects.delete(name);
      return items;
    },

    async remove(name, object, signal) {
      await cluster.remove(path(object), { propagationPolicy: "Background" }, signal);
      objects.delete(name);
    },
  };
}
