import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxId } from "@berth/contract";
import { daemonRuntime } from "../runtime.ts";
import { startKubernetesDouble, type DoubleOptions, type KubernetesDouble } from "./double.ts";
import { systemClock } from "../../../server/clock.ts";
import { silentLog } from "../../../server/log.ts";
import { createKubernetesDriver, type KubernetesOptions } from "../../../server/drivers/kubernetes/kubernetes.ts";
import { nameOf } from "../../../server/drivers/kubernetes/cluster/names.ts";
import { DEFAULT_TEMPLATE } from "../../../server/templates.ts";

// The double and a driver that uses it.
export async function openDouble(options: Partial<DoubleOptions> = {}) {
  const double = await startKubernetesDouble({ runtimeDir: await daemonRuntime(), ...options });
  const open = (overrides: Partial<KubernetesOptions> = {}) => createKubernetesDriver({ ...driverOptions(double), ...overrides });
  return { double, open };
}

export const driverOptions = ({ kubeconfig }: Pick<KubernetesDouble, "kubeconfig">): KubernetesOptions => ({
  kubeconfig,
  namespace: null,
  installation: "suite",
  image: "berth-sandbox:test",
  egress: null,
  userNamespace: false,
  imagePullSecrets: [],
  templatesHaveDaemon: false,
  storageClass: null,
  volumeStorageClass: null,
  volumeAccess: "ReadWriteOnce",
  nodeSelector: {},
  clock: systemClock,
  log: silentLog,
});

// The objects that remain after the cluster's garbage collection.
export async function uncollected(double: KubernetesDouble, id: SandboxId): Promise<string[]> {
  const endMs = performance.now() + 20_000;
  while (claimsLeft(double, id).length > 0 && performance.now() < endMs) await sleep(10);
  return claimsLeft(double, id);
}

export function claimsLeft({ objects }: KubernetesDouble, id: SandboxId): string[] {
  return ["sandboxclaims", "sandboxes", "statefulsets", "pods", "persistentvolumeclaims"].flatMap((kind) =>
    objects
      .list(kind)
      // A deleted claim disappears with its last pod.
      .filter(({ metadata }) => kind !== "persistentvolumeclaims" || !metadata.deletionTimestamp)
      // An object from a warm pool has another name, but carries the id in its metadata.
      .filter(({ metadata: { name = "", labels, annotations } }) => JSON.stringify([name, labels, annotations]).includes(nameOf(id)))
      .map(({ metadata }) => `${kind} ${metadata.name}`),
  );
}

// Takes the default template's sandboxes from the double's pool of this name.
export const warmPoolOf = (pool: string): Pick<KubernetesOptions, "warmPools"> => ({
  warmPools: {
    pools: new Map([[DEFAULT_TEMPLATE.name, pool]]),
    templates: new Map([[DEFAULT_TEMPLATE.name, { ...DEFAULT_TEMPLATE, diskMb: 256 }]]),
    seeds: [Buffer.alloc(32, 7)],
  },
});
