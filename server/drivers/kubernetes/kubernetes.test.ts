import { claimsLeft, driverOptions, openDouble, warmPoolOf } from "../../../tests/support/kubernetes/driver.ts";
import { driverSuite } from "../driver.suite.ts";
import { connectCluster } from "./connect.ts";
import { createKubernetesDriver } from "./kubernetes.ts";
import { nameOf, podsPath } from "./names.ts";
import { sandboxKind, statefulSetKind } from "./workload.ts";

// Every promise of a driver, on both kinds of workload, and with sandboxes out of one of the cluster's own pools.
for (const [name, cluster, options] of [
  ["kubernetes (Sandbox)", { crds: true }, {}],
  ["kubernetes (StatefulSet)", { crds: false }, {}],
  ["kubernetes (SandboxWarmPool)", { crds: true, warmPools: { ready: 2 } }, warmPoolOf("ready")],
] as const)
  driverSuite(name, async () => {
    const { double, open } = await openDouble(cluster);
    return {
      driver: await open(options),
      reopen: () => open(options),
      leftovers: async (id) => claimsLeft(double, id),
      dispose: async () => double[Symbol.asyncDispose](),
    };
  });

// The same on a real cluster, whose pods this machine must be able to reach.
const kubeconfig = process.env["BERTH_TEST_KUBECONFIG"];
const image = process.env["BERTH_TEST_SANDBOX_IMAGE"] ?? "berth-sandbox:latest";
driverSuite(
  "kubernetes (a real cluster)",
  async () => {
    const options = { ...driverOptions({ kubeconfig: kubeconfig! }), image };
    const { cluster, namespace } = await connectCluster(options);
    return {
      driver: await createKubernetesDriver(options),
      reopen: () => createKubernetesDriver(options),
      async leftovers(id) {
        const signal = AbortSignal.timeout(30_000);
        const paths = [sandboxKind, statefulSetKind].map((kind) => kind.path(namespace, nameOf(id)));
        const found = await Promise.all(
          [...paths, podsPath(namespace, nameOf(id))].map(async (path) => ((await cluster.get(path, signal)) ? [path] : [])),
        );
        return found.flat();
      },
      dispose: async () => cluster[Symbol.asyncDispose](),
    };
  },
  { skipReason: kubeconfig === undefined ? "BERTH_TEST_KUBECONFIG names no cluster" : undefined },
);
