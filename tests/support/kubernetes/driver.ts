import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxId } from "@berth/contract";
import { daemonRuntime } from "../runtime.ts";
import { startKubernetesDouble, type DoubleOptions, type KubernetesDouble } from "./double.ts";
import { systemClock } from "../../../server/clock.ts";
import { silentLog } from "../../../server/log.ts";
import { createKubernetesDriver, type KubernetesOptions } from "../../../server/drivers/kubernetes/kubernetes.ts";
import { nameOf } from "../../../server/drivers/kubernetes/cluster/names.ts";
import { DEFAULT_TEMPLATE } from "../../../server/templates.ts";

// The double with a driver on it, for the tests of this folder.
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
  storageClass: null,
  nodeSelector: {},
  clock: systemClock,
  log: silentLog,
});

// What is left once the cluster has collected what it collects by itself.
export async function uncollected(double: KubernetesDouble, id: SandboxId): Promise<string[]> {
  const endMs = performance.now() + 20_000;
  while (claimsLeft(double, id).length > 0 && performance.now() < endMs) await sleep(10);
  return claimsLeft(double, id);
}

export function claimsLeft({ objects }: KubernetesDouble, id: SandboxId): string[] {
  return ["sandboxclaims", "sandboxes", "statefulsets", "pods", "persistentvolumeclaims"].flatMap((kind) =>
    objects
      .list(kind)
      // A claim that was deleted goes when its last pod has; nobody can keep it.
      .filter(({ metadata }) => kind !== "persistentvolumeclaims" || !metadata.deletionTimestamp)
      // By its name or, out of a warm pool, by what is written on it.
      .filter(({ metadata: { name = "", labels, annotations } }) => JSON.stringify([name, labels, annotations]).includes(nameOf(id)))
      .map(({ metadata }) => `${kind} ${metadata.name}`),
  );
}

// The default template's sandboxes come out of the double's pool of this name.
export const warmPoolOf = (pool: string): Pick<KubernetesOptions, "warmPools"> => ({
  warmPools: {
    pools: new Map([[DEFAULT_TEMPLATE.name, pool]]),
    templates: new Map([[DEFAULT_TEMPLATE.name, { ...DEFAULT_TEMPLATE, diskMb: 256 }]]),
    seeds: [Buffer.alloc(32, 7)],
  },
});
