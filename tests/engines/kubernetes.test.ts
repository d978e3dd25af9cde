import { freePort } from "../../server/host.ts";
import { startKubernetesDouble } from "../support/kubernetes/double.ts";
import { openRealCluster, realCluster } from "../support/kubernetes/real.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { engineJourneys } from "./journeys.ts";

for (const [workload, crds] of [
  ["Sandbox", true],
  ["StatefulSet", false],
] as const)
  engineJourneys(
    `kubernetes (${workload}, on the double)`,
    async () => {
      const double = await startKubernetesDouble({ runtimeDir: await daemonRuntime(), crds });
      const egress = `127.0.0.1:${await freePort("127.0.0.1")}`;
      const podOf = (id: string) => `${id.replace("_", "-")}${crds ? "" : "-0"}`;
      return {
        env: { BERTH_DRIVER: "kubernetes", BERTH_KUBECONFIG: double.kubeconfig, BERTH_EGRESS_LISTEN: egress, BERTH_EGRESS_ADDRESS: egress },
        leftovers: async (id) =>
          ["sandboxes", "statefulsets", "pods"].flatMap((kind) =>
            double.objects
              .list(kind)
              .flatMap(({ metadata }) => (metadata.name?.includes(id.replace("_", "-")) ? [`${kind} ${metadata.name}`] : [])),
          ),
        crash: async (id) => void process.kill(double.kubelet.pidOf(podOf(id))!, "SIGKILL"),
        dispose: async () => double[Symbol.asyncDispose](),
      };
    },
    // What the browser sees does not depend on the kind of workload.
    { freezes: false, inBrowser: crds },
  );

engineJourneys(
  "kubernetes (a real cluster)",
  async () => {
    const cluster = await openRealCluster();
    const port = await freePort("127.0.0.1");
    return {
      env: {
        BERTH_DRIVER: "kubernetes",
        BERTH_KUBECONFIG: realCluster.kubeconfig,
        BERTH_SANDBOX_IMAGE: realCluster.image,
        BERTH_EGRESS_LISTEN: `0.0.0.0:${port}`,
        BERTH_EGRESS_ADDRESS: `${realCluster.hostForPods}:${port}`,
      },
      leftovers: (id) => cluster.leftovers(id),
      crash: (id) => cluster.killPod(id),
      dispose: async () => cluster[Symbol.asyncDispose](),
    };
  },
  { freezes: false, skipReason: realCluster.skipReason },
);
