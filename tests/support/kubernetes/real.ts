import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "@kubernetes/client-node";
import { connectCluster } from "../../../server/drivers/kubernetes/cluster/connect.ts";
import { volumeClaimsPath, EXTENSIONS, idOf, podsPath } from "../../../server/drivers/kubernetes/cluster/names.ts";
import { sandboxOf } from "../../../server/drivers/kubernetes/pods/pod-watch.ts";
import { sandboxKind, statefulSetKind } from "../../../server/drivers/kubernetes/workloads/workload-kinds.ts";

// A real cluster, named by BERTH_TEST_KUBECONFIG; its current namespace is the tests'. This machine must reach its pods, and
// where pods reach this machine is BERTH_TEST_POD_HOST (for their way out). BERTH_TEST_WARM_POOL names a SandboxWarmPool in that
// namespace, whose SandboxTemplate the tests write. With an account that has the Role of deploy/kubernetes and no more, what the
// driver does is seen to need no more; the tests' own look at volume claims does, with BERTH_TEST_ADMIN_KUBECONFIG.
export const realCluster = {
  kubeconfig: process.env["BERTH_TEST_KUBECONFIG"] ?? "",
  adminKubeconfig: process.env["BERTH_TEST_ADMIN_KUBECONFIG"] ?? process.env["BERTH_TEST_KUBECONFIG"] ?? "",
  image: process.env["BERTH_TEST_SANDBOX_IMAGE"] ?? "berth-sandbox:latest",
  hostForPods: process.env["BERTH_TEST_POD_HOST"] ?? "127.0.0.1",
  // Files that run at once must not take each other's sandboxes for orphans.
  newInstallation: () => `test-${randomBytes(4).toString("hex")}`,
  warmPool: process.env["BERTH_TEST_WARM_POOL"] ?? "",
};

export interface RealCluster extends AsyncDisposable {
  // What the cluster keeps of a sandbox. It collects in its own time: a controller that has not heard of a deletion makes a
  // pod for what is gone, and a claim that was deleted goes when its last pod has.
  leftovers(sandboxId: string): Promise<string[]>;
  // Ends the sandbox's pod, as anybody beside the server could.
  killPod(sandboxId: string): Promise<void>;
}

export async function openRealCluster(): Promise<RealCluster> {
  const { cluster, namespace } = await connectCluster({ kubeconfig: realCluster.adminKubeconfig, namespace: null });
  const named = async (path: string, sandboxId: string) => {
    if (/^\/apis\/.*agents/.test(path) && !(await cluster.get(path, patience()))) return [];
    const { items } = await cluster.list<KubernetesObject>(path, {}, patience());
    return items.filter((object) => idOf(sandboxOf(object)) === sandboxId && !object.metadata?.deletionTimestamp);
  };
  const pathOf = (path: string, { metadata }: KubernetesObject) => `${path}/${metadata?.name}`;

  return {
    async leftovers(sandboxId) {
      const claims = `${EXTENSIONS}/namespaces/${namespace}/sandboxclaims`;
      const paths = [
        claims,
        sandboxKind.path(namespace),
        statefulSetKind.path(namespace),
        podsPath(namespace),
        volumeClaimsPath(namespace),
      ];
      const endMs = performance.now() + COLLECTED_IN_MS;
      for (;;) {
        const found = await Promise.all(paths.map(async (path) => (await named(path, sandboxId)).map((object) => pathOf(path, object))));
        if (found.flat().length === 0 || performance.now() > endMs) return found.flat();
        await sleep(200);
      }
    },
    async killPod(sandboxId) {
      for (const pod of await named(podsPath(namespace), sandboxId))
        await cluster.remove(pathOf(podsPath(namespace), pod), { gracePeriodSeconds: 0 }, patience());
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const COLLECTED_IN_MS = 15_000;
const patience = () => AbortSignal.timeout(30_000);
