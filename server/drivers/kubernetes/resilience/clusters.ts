import { createHash } from "node:crypto";
import { newId } from "@berth/contract";
import { afterEach } from "vitest";
import type { DoubleOptions } from "../../../../tests/support/kubernetes/double.ts";
import { openDouble } from "../../../../tests/support/kubernetes/driver.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import type { SandboxSpec } from "../../driver.ts";
import { nameOf } from "../cluster/names.ts";
import type { KubernetesOptions } from "../kubernetes.ts";

// Both kinds of workload.
export const kinds = [
  { workload: "Sandbox", crds: true },
  { workload: "StatefulSet", crds: false },
];

// Clusters and drivers that end with each test of the file.
export function openClusters() {
  let stack = new AsyncDisposableStack();
  afterEach(async () => {
    await stack.disposeAsync();
    stack = new AsyncDisposableStack();
  });
  return {
    use: <Resource extends AsyncDisposable | Disposable>(resource: Resource) => stack.use(resource),
    async start(doubleOptions: Partial<DoubleOptions> = {}, driverOptions: Partial<KubernetesOptions> = {}) {
      const { double, open } = await openDouble(doubleOptions);
      stack.use(double);
      const openDriver = async () => stack.use(await open(driverOptions));
      return { double, driver: await openDriver(), openDriver };
    },
  };
}

export const deadline = (ms = 30_000) => AbortSignal.timeout(ms);

export const newSpec = (template: Partial<SandboxSpec["template"]> = {}): SandboxSpec => ({
  id: newId("sbx", Date.now()),
  template: { ...DEFAULT_TEMPLATE, ...template },
  tokenHash: createHash("sha256").update("a token of the suite").digest("hex"),
});

export const podName = (crds: boolean, { id }: SandboxSpec) => (crds ? nameOf(id) : `${nameOf(id)}-0`);
