import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { driverOptions, openDouble, uncollected, warmPoolOf } from "../../../tests/support/kubernetes/driver.ts";
import { openRealCluster, realCluster } from "../../../tests/support/kubernetes/real.ts";
import { driverSuite } from "../testing/driver.suite.ts";
import { createKubernetesDriver } from "./kubernetes.ts";
import { machine } from "../../../tests/support/machine.ts";

// The contract of a driver, with both kinds of workload, and with sandboxes from a SandboxWarmPool.
for (const [name, cluster, options] of [
  ["kubernetes (Sandbox)", { crds: true }, {}],
  ["kubernetes (StatefulSet)", { crds: false }, {}],
  ["kubernetes (SandboxWarmPool)", { crds: true, warmPools: { ready: 2 } }, warmPoolOf("ready")],
] as const)
  driverSuite(
    name,
    async () => {
      const { double, open } = await openDouble(cluster);
      return {
        driver: await open(options),
        reopen: () => open(options),
        remainingResources: (id) => uncollected(double, id),
        dispose: async () => double[Symbol.asyncDispose](),
      };
    },
    // The double mounts volumes as root.
    { overNetwork: true, volumesMissing: machine.root, isVariant: name !== "kubernetes (Sandbox)" },
  );

// The same on a real cluster.
for (const [name, overrides, missing] of [
  ["kubernetes (a real cluster)", {}, machine.realCluster],
  ["kubernetes (a real cluster, SandboxWarmPool)", warmPoolOf(realCluster.warmPool), machine.realCluster ?? machine.warmPool],
] as const)
  driverSuite(
    name,
    async () => {
      const options = { ...driverOptions(realCluster), image: realCluster.image, ...overrides };
      const cluster = await openRealCluster();
      return {
        driver: await createKubernetesDriver(options),
        reopen: () => createKubernetesDriver(options),
        remainingResources: (id) => cluster.leftovers(id),
        dispose: async () => cluster[Symbol.asyncDispose](),
      };
    },
    {
      missing,
      overNetwork: true,
      testTimeoutMs: 120_000,
      snapshotsMissing: "the storage of the cluster may not make snapshots",
    },
  );

test("a cluster whose storage makes no snapshots says so, and its sandboxes work", async () => {
  const { double, open } = await openDouble({ snapshots: false });
  await using _cluster = double;
  await using driver = await open();
  const signal = AbortSignal.timeout(30_000);
  await expect(driver.takeSnapshot(newId("sbx", 1), newId("snp", 1), signal)).rejects.toMatchObject({ code: "snapshots_unsupported" });
  expect(await driver.listSnapshots(signal)).toEqual([]);
});
