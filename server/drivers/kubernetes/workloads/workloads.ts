import type { Claims } from "../warm-pools/claims.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { LABEL } from "../cluster/names.ts";
import type { Workload, WorkloadKind } from "./workload-kinds.ts";

// The workloads of this installation, by the name that is derived from the sandbox id. This is also the name of the object, except
// for a Sandbox from a warm pool, which is found by its label.
export interface Workloads {
  read(name: string, signal: AbortSignal): Promise<Workload | null>;
  // Returns false if the workload exists. No signal aborts it: a deletion cannot undo a creation that the API server has not finished.
  create(name: string, workload: Workload): Promise<boolean>;
  // Applies a merge patch. null if the workload does not exist.
  change(name: string, patch: object, signal: AbortSignal): Promise<Workload | null>;
  // The name of the object.
  objectOf(name: string, signal: AbortSignal): Promise<string>;
  // The name of the workload's pod.
  podOf(name: string, signal: AbortSignal): Promise<string>;
  // Assigns the Sandbox `object` from a warm pool to `name`, by a merge patch that labels it. null if it does not exist.
  assign(name: string, object: string, patch: object, signal: AbortSignal): Promise<Workload | null>;
  list(signal: AbortSignal): Promise<Workload[]>;
  remove(name: string, object: string, signal: AbortSignal): Promise<void>;
}

export interface WorkloadsOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
  kind: WorkloadKind;
  // null if no sandbox can come from a warm pool, so that every name is the name of an object.
  claims: Claims | null;
}

const CREATE_TIMEOUT_MS = 30_000;

export function createWorkloads({ cluster, namespace, installation, kind, claims }: WorkloadsOptions): Workloads {
  const path = (object?: string) => kind.path(namespace, object);
  const ours = `${LABEL.installation}=${installation}`;
  // Caches the names of objects, which never change.
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

    async create(name, workload) {
      const created = await cluster.create(path(), workload, AbortSignal.timeout(CREATE_TIMEOUT_MS));
      if (created) objects.set(name, name);
      return created !== null;
    },

    change: async (name, patch, signal) => cluster.patch<Workload>(path(await objectOf(name, signal)), patch, signal),

    async assign(name, object, patch, signal) {
      const workload = await cluster.patch<Workload>(path(object), patch, signal);
      if (workload) objects.set(name, object);
      return workload;
    },

    async list(signal) {
      const { items } = await cluster.list<Workload>(path(), { labelSelector: ours }, signal);
      // Other servers may have destroyed some.
      const existing = new Set(items.map(({ metadata }) => metadata?.name));
      for (const [name, object] of objects) if (!existing.has(object)) objects.delete(name);
      return items;
    },

    async remove(name, object, signal) {
      await cluster.remove(path(object), { propagationPolicy: "Background" }, signal);
      objects.delete(name);
    },
  };
}
