import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isSnapshotId, type SnapshotId } from "@berth/contract";
import type { KubernetesObject, V1PersistentVolumeClaimSpec } from "@kubernetes/client-node";
import type { TakenSnapshot } from "../driver.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { commonLabels, LABEL } from "./cluster/names.ts";

// Snapshots of the volumes of sandboxes, made by the storage of the cluster (CSI).
export interface VolumeSnapshots {
  // Resolves when the storage has made the snapshot.
  take(id: SnapshotId, volumeClaimName: string, signal: AbortSignal): Promise<TakenSnapshot>;
  // The fields of a volume claim that starts with the snapshot.
  claimFields(id: SnapshotId, signal: AbortSignal): Promise<ClaimFields>;
  remove(id: SnapshotId, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<SnapshotId[]>;
}

export type ClaimFields = Pick<V1PersistentVolumeClaimSpec, "dataSource" | "resources">;

export interface VolumeSnapshotsDeps {
  cluster: Cluster;
  namespace: string;
  installation: string;
}

interface VolumeSnapshot extends KubernetesObject {
  status?: { readyToUse?: boolean; restoreSize?: string; error?: { message?: string } };
}

const GROUP = "snapshot.storage.k8s.io";
const API = `/apis/${GROUP}/v1`;
const POLL_MS = 250;
// The storage has no class of snapshots, or its driver cannot make them. The controller keeps trying, which does not help.
const UNSUPPORTED = /volumesnapshotclass|default snapshot class|does not support|unimplemented|not (a )?csi/i;

export function createVolumeSnapshots({ cluster, namespace, installation }: VolumeSnapshotsDeps): VolumeSnapshots {
  const pathOf = (id?: SnapshotId) => `${API}/namespaces/${namespace}/volumesnapshots${id ? `/${nameOf(id)}` : ""}`;
  const isInstalled = async (signal: AbortSignal) => (await cluster.get(API, signal)) !== null;

  async function awaitReady(id: SnapshotId, signal: AbortSignal): Promise<void> {
    for (;;) {
      const { status } = (await cluster.get<VolumeSnapshot>(pathOf(id), signal)) ?? {};
      if (status?.readyToUse) return;
      const problem = status?.error?.message;
      if (problem !== undefined && UNSUPPORTED.test(problem)) throw unsupported(problem);
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  return {
    async take(id, volumeClaimName, signal) {
      if (!(await isInstalled(signal))) throw unsupported("the cluster has no volume snapshots");
      await cluster.create(
        pathOf(),
        {
          apiVersion: `${GROUP}/v1`,
          kind: "VolumeSnapshot",
          metadata: { name: nameOf(id), labels: commonLabels(installation) },
          spec: { source: { persistentVolumeClaimName: volumeClaimName } },
        },
        signal,
      );
      await awaitReady(id, signal);
      return { bytes: null, frozenMs: 0 };
    },

    async claimFields(id, signal) {
      const snapshot = await cluster.get<VolumeSnapshot>(pathOf(id), signal);
      if (!snapshot) throw new AppError("sandbox_failed", { message: "The snapshot does not exist" });
      const size = snapshot.status?.restoreSize;
      return {
        dataSource: { name: nameOf(id), kind: "VolumeSnapshot", apiGroup: GROUP },
        // A volume cannot be smaller than the one that its files come from.
        ...(size === undefined ? {} : { resources: { requests: { storage: size } } }),
      };
    },

    remove: (id, signal) => cluster.remove(pathOf(id), {}, signal),

    async list(signal) {
      if (!(await isInstalled(signal))) return [];
      const query = { labelSelector: `${LABEL.installation}=${installation}` };
      const found = (await cluster.listIfAllowed<KubernetesObject>(pathOf(), query, signal)) ?? [];
      return found.flatMap(({ metadata }) => idOf(metadata?.name) ?? []);
    },
  };
}

const nameOf = (id: SnapshotId) => id.replace("_", "-");

function idOf(name = ""): SnapshotId | null {
  const id = name.replace("-", "_");
  return isSnapshotId(id) ? id : null;
}

const unsupported = (problem: string) => new AppError("snapshots_unsupported", { cause: new Error(problem) });
