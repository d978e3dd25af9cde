import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject, V1Pod } from "@kubernetes/client-node";
import { connectCluster } from "../../../server/drivers/kubernetes/cluster/connect.ts";
import { volumeClaimsPath, EXTENSIONS, idOf, podsPath } from "../../../server/drivers/kubernetes/cluster/names.ts";
import { sandboxOf } from "../../../server/drivers/kubernetes/pods/pod-watch.ts";
import { sandboxKind, statefulSetKind } from "../../../server/drivers/kubernetes/workloads/workload-kinds.ts";

// A real cluster. BERTH_TEST_KUBECONFIG names it, and the tests use its current namespace. This machine must reach the pods;
// BERTH_TEST_POD_HOST is the address under which pods reach this machine for egress. BERTH_TEST_WARM_POOL names a
// SandboxWarmPool in that namespace, whose SandboxTemplate the tests overwrite. If the account has only the Role of
// deploy/kubernetes, the tests prove that the driver needs no more. The tests themselves read volume claims, which needs
// BERTH_TEST_ADMIN_KUBECONFIG.
export const realCluster = {
  kubeconfig: process.env["BERTH_TEST_KUBECONFIG"] ?? "",
  adminKubeconfig: process.env["BERTH_TEST_ADMIN_KUBECONFIG"] ?? process.env["BERTH_TEST_KUBECONFIG"] ?? "",
  image: process.env["BERTH_TEST_SANDBOX_IMAGE"] ?? "berth-sandbox:latest",
  // An image without our daemon, as a repository names one.
  repositoryImage: process.env["BERTH_TEST_REPOSITORY_IMAGE"] ?? "docker.io/library/debian:12-slim",
  hostForPods: process.env["BERTH_TEST_POD_HOST"] ?? "127.0.0.1",
  // Test files that run at the same time must not treat each other's sandboxes as orphans.
  newInstallation: () => `test-${randomBytes(4).toString("hex")}`,
  warmPool: process.env["BERTH_TEST_WARM_POOL"] ?? "",
};

export interface RealCluster extends AsyncDisposable {
  // The objects of a sandbox that remain after garbage collection, which takes a while: a controller may create one more pod
  // before it sees a deletion, and a deleted claim disappears with its last pod.
  leftovers(sandboxId: string): Promise<string[]>;
  // The image in which the sandbox runs.
  imageOf(sandboxId: string): Promise<string>;
  // Deletes the sandbox's pod behind the server's back.
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
    async imageOf(sandboxId) {
      const [pod] = (await named(podsPath(namespace), sandboxId)) as V1Pod[];
      return pod!.spec!.containers[0]!.image!;
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
