import { setTimeout as sleep } from "node:timers/promises";
import type { V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import { AppError, isAppError, type VolumeId } from "@berth/contract";
import type { DriverVolumes, SandboxVolume } from "../../driver.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { commonLabels, LABEL, mountsLabel, podsPath, volumeClaimsPath, volumeIdOf, volumeNameOf } from "../cluster/names.ts";

// The volumes of partners. Each is a PersistentVolumeClaim, whose name depends only on the id of the volume.
export interface NamedVolumes extends DriverVolumes {
  // Creates the claims that do not exist yet. Resolves with the volumes whose pods the pod of the sandbox `name` must share a node with.
  prepare(name: string, volumes: readonly SandboxVolume[], signal: AbortSignal): Promise<VolumeId[]>;
}

// `ReadWriteOnce`: pods on one node at a time can mount it. `ReadWriteMany`: pods on any number of nodes.
export type VolumeAccess = "ReadWriteOnce" | "ReadWriteMany";

export interface NamedVolumesOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
  storageClass: string | null;
  access: VolumeAccess;
}

const POLL_MS = 100;

export function createNamedVolumes({ cluster, namespace, installation, storageClass, access }: NamedVolumesOptions): NamedVolumes {
  const pathOf = (id: VolumeId) => volumeClaimsPath(namespace, volumeNameOf(id));
  const read = (id: VolumeId, signal: AbortSignal) => cluster.get<V1PersistentVolumeClaim>(pathOf(id), signal);
  const ours = `${LABEL.installation}=${installation}`;

  async function open(volume: SandboxVolume, signal: AbortSignal): Promise<V1PersistentVolumeClaim> {
    const claim =
      (await read(volume.id, signal)) ??
      (await cluster.create(volumeClaimsPath(namespace), describe(volume), signal).catch(explain)) ??
      (await read(volume.id, signal));
    if (!claim || claim.metadata?.deletionTimestamp)
      throw new AppError("sandbox_failed", { message: "A volume of the session is being deleted", cause: new Error(volume.id) });
    return claim;
  }

  const describe = ({ id, sizeMb }: SandboxVolume): V1PersistentVolumeClaim => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: volumeNameOf(id), labels: { ...commonLabels(installation), [LABEL.volume]: volumeNameOf(id) } },
    spec: {
      accessModes: [access],
      resources: { requests: { storage: `${sizeMb}Mi` } },
      ...(storageClass === null ? {} : { storageClassName: storageClass }),
    },
  });

  // The nodes of the pods of other sandboxes that use the volume now.
  async function nodesOf(id: VolumeId, name: string, signal: AbortSignal): Promise<string[]> {
    const { items } = await cluster.list<V1Pod>(podsPath(namespace), { labelSelector: `${ours},${mountsLabel(id)}` }, signal);
    return items
      .filter(({ metadata, status }) => metadata?.labels?.[LABEL.sandbox] !== name && !ENDED.has(status?.phase ?? ""))
      .flatMap(({ spec }) => spec?.nodeName ?? []);
  }

  return {
    paths: "all",

    async prepare(name, volumes, signal) {
      const used: VolumeId[] = [];
      const free: VolumeId[] = [];
      const nodes = new Set<string>();
      for (const volume of volumes) {
        // The modes of a claim never change, so an operator's other setting applies to new volumes only.
        const { spec } = await open(volume, signal);
        if (spec?.accessModes?.includes("ReadWriteMany")) continue;
        const found = await nodesOf(volume.id, name, signal);
        (found.length > 0 ? used : free).push(volume.id);
        for (const node of found) nodes.add(node);
      }
      if (nodes.size > 1) throw apart([...nodes]);
      // The scheduler considers only pods that match all terms of an affinity, so a pod with two volumes would not be placed beside a pod
      // with one of them. One volume in use decides, because all of them are on one node. If none is in use, the terms
      // bring pods together that start at the same moment with the same volumes.
      return used.length > 0 ? used.slice(0, 1) : free;
    },

    // Waits, because the claim stays until its last pod has ended.
    async remove(id, signal) {
      await cluster.remove(pathOf(id), {}, signal);
      while (await read(id, signal)) await sleep(POLL_MS, undefined, { signal });
    },

    // Our account may lack this permission after an upgrade, and other sandboxes need no volumes.
    async list(signal) {
      const query = { labelSelector: `${ours},${LABEL.volume}` };
      const claims = await cluster.listIfAllowed<V1PersistentVolumeClaim>(volumeClaimsPath(namespace), query, signal);
      return (claims ?? []).flatMap(({ metadata }) => volumeIdOf(metadata?.name) ?? []);
    },
  };
}

const ENDED = new Set(["Succeeded", "Failed"]);

const apart = (nodes: string[]) =>
  new AppError("capacity_reached", {
    message: "The volumes of this session are in use on different nodes of the cluster; pause or destroy a session that uses one of them",
    cause: new Error(`kubernetes: ReadWriteOnce volumes are in use on ${nodes.join(" and ")}`),
  });

function explain(error: unknown): never {
  if (isAppError(error, "capacity_reached"))
    throw new AppError("capacity_reached", {
      message: "The cluster's quota of storage has no room for a volume of this session",
      cause: error,
    });
  if (isAppError(error, "sandbox_failed"))
    throw new AppError("sandbox_failed", {
      message: "The cluster has refused a volume of this session; its operator sees why",
      cause: error,
    });
  throw error;
}
