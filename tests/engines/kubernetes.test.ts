import type { V1Pod } from "@kubernetes/client-node";
import type { SandboxId } from "@berth/contract";
import { nameOf } from "../../server/drivers/kubernetes/cluster/names.ts";
import { sandboxOf } from "../../server/drivers/kubernetes/pods/pod-watch.ts";
import { MISSING_IMAGE, startKubernetesDouble } from "../support/kubernetes/double.ts";
import { uncollected } from "../support/kubernetes/driver.ts";
import { openRealCluster, realCluster } from "../support/kubernetes/real.ts";
import { freePort } from "../support/servers/port.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { engineJourneys } from "./journeys.ts";
import { IMAGE_ENV } from "./template-journey.ts";
import { machine } from "../support/machine.ts";

const TOOLS = "example.com/tools:2";

for (const [workload, cluster, env] of [
  ["Sandbox", { crds: true }, {}],
  ["StatefulSet", { crds: false }, {}],
  ["SandboxWarmPool", { crds: true, warmPools: { ready: 1 } }, { BERTH_KUBERNETES_WARM_POOLS: "default=ready", BERTH_POOL_SIZE: "0" }],
] as const)
  engineJourneys(
    `kubernetes (${workload}, on the double)`,
    async () => {
      const double = await startKubernetesDouble({ runtimeDir: await daemonRuntime(), imageEnv: { [TOOLS]: IMAGE_ENV }, ...cluster });
      const egress = `127.0.0.1:${await freePort()}`;
      const podOf = (id: SandboxId) => double.objects.list("pods").find((pod) => sandboxOf(pod) === nameOf(id))!.metadata.name!;
      return {
        env: {
          BERTH_DRIVER: "kubernetes",
          BERTH_KUBECONFIG: double.kubeconfig,
          BERTH_EGRESS_LISTEN: egress,
          BERTH_EGRESS_ADDRESS: egress,
          ...env,
        },
        leftovers: (id) => uncollected(double, id as SandboxId),
        imageOf: async (id) => (double.objects.get("pods", podOf(id as SandboxId)) as V1Pod).spec!.containers[0]!.image!,
        crash: async (id) => void process.kill(double.kubelet.pidOf(podOf(id as SandboxId))!, "SIGKILL"),
        dispose: async () => double[Symbol.asyncDispose](),
      };
    },
    { freezes: false, isVariant: workload !== "Sandbox", images: { works: TOOLS, fails: MISSING_IMAGE } },
  );

engineJourneys(
  "kubernetes (a real cluster)",
  async () => {
    const cluster = await openRealCluster();
    const port = await freePort();
    return {
      env: {
        BERTH_DRIVER: "kubernetes",
        BERTH_KUBECONFIG: realCluster.kubeconfig,
        BERTH_SANDBOX_IMAGE: realCluster.image,
        BERTH_INSTALLATION: realCluster.newInstallation(),
        BERTH_EGRESS_LISTEN: `0.0.0.0:${port}`,
        BERTH_EGRESS_ADDRESS: `${realCluster.hostForPods}:${port}`,
      },
      leftovers: (id) => cluster.leftovers(id),
      crash: (id) => cluster.killPod(id),
      imageOf: (id) => cluster.imageOf(id),
      dispose: async () => cluster[Symbol.asyncDispose](),
    };
  },
  {
    freezes: false,
    missing: machine.realCluster,
    images: { works: realCluster.repositoryImage, fails: MISSING_IMAGE, foreign: "the image of a real cluster has other variables" },
  },
);
