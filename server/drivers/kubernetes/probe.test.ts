import { afterEach, expect, test } from "vitest";
import type { DoubleOptions, KubernetesDouble } from "../../../tests/support/kubernetes/double.ts";
import { probeKubernetes } from "./probe.ts";
import { openDouble } from "../../../tests/support/kubernetes/driver.ts";

let double: KubernetesDouble | undefined;
afterEach(async () => {
  await double?.[Symbol.asyncDispose]();
  double = undefined;
});

async function probe(
  options: Partial<DoubleOptions> = {},
  prepare: (double: KubernetesDouble) => void = () => {},
  storageClass: string | null = null,
) {
  ({ double } = await openDouble(options));
  prepare(double);
  return await probeKubernetes({ kubeconfig: double.kubeconfig, namespace: null, storageClass });
}

test("a cluster with all permissions is usable, with and without agent-sandbox", async () => {
  expect(await probe()).toMatchObject({ usable: true, reason: expect.stringMatching(/agent-sandbox is installed/) as string });
  await double?.[Symbol.asyncDispose]();
  expect(await probe({ crds: false })).toMatchObject({
    usable: true,
    reason: expect.stringMatching(/so sandboxes are StatefulSets/) as string,
  });
});

test("one message names every missing permission", async () => {
  const { usable, reason } = await probe({}, (cluster) => {
    cluster.forbid("patch", "sandboxes");
    cluster.forbid("watch", "pods");
    cluster.forbid("delete", "persistentvolumeclaims");
  });
  expect(usable).toBe(false);
  expect(reason).toMatch(/may not patch sandboxes.*may not watch pods.*may not delete persistentvolumeclaims/);
});

test("without the permissions for volumes the cluster is usable, and the message says what does not work", async () => {
  const { usable, reason } = await probe({}, (cluster) => cluster.forbid("create", "persistentvolumeclaims"));
  expect(usable).toBe(true);
  expect(reason).toMatch(/sessions cannot mount volumes, because the server may not create persistentvolumeclaims in sandboxes/);
});

test("a missing storage class is named", async () => {
  expect((await probe({ storageClasses: [] })).reason).toMatch(/no default storage class \(set BERTH_KUBERNETES_STORAGE_CLASS\)/);
  await double?.[Symbol.asyncDispose]();
  expect((await probe({}, undefined, "fast")).reason).toMatch(/no storage class fast \(there are: standard\)/);
  const forVolumes = { kubeconfig: double!.kubeconfig, namespace: null, storageClass: null, volumeStorageClass: "shared" };
  expect((await probeKubernetes(forVolumes)).reason).toMatch(/no storage class shared/);
});

test("the message names what a warm pool needs: extensions, permissions, and the pool itself", async () => {
  const probePool = async (options: Partial<DoubleOptions>, prepare?: (double: KubernetesDouble) => void) => {
    await probe(options, prepare);
    const answer = await probeKubernetes({ kubeconfig: double!.kubeconfig, namespace: null, storageClass: null, warmPools: ["ready"] });
    await double?.[Symbol.asyncDispose]();
    return answer;
  };
  expect((await probePool({})).reason).toMatch(/BERTH_KUBERNETES_WARM_POOLS needs agent-sandbox with its extensions/);
  expect((await probePool({ warmPools: {} })).reason).toMatch(/there is no SandboxWarmPool ready in sandboxes/);
  expect((await probePool({ warmPools: { ready: 0 } }, (cluster) => cluster.forbid("create", "sandboxclaims"))).reason).toMatch(
    /may not create sandboxclaims in sandboxes/,
  );
  expect(await probePool({ warmPools: { ready: 0 } })).toMatchObject({
    usable: true,
    reason: expect.stringMatching(/sandboxes come from the SandboxWarmPool ready/) as string,
  });
  const keepsOld = (cluster: KubernetesDouble) =>
    cluster.objects.merge("sandboxwarmpools", "ready", { spec: { updateStrategy: { type: "OnReplenish" } } });
  expect((await probePool({ warmPools: { ready: 0 } }, keepsOld)).reason).toMatch(/its updateStrategy is not Recreate/);
});

test("nodes without ephemeral-storage are named, because no sandbox fits on them", async () => {
  const all = await probe({ withoutEphemeralStorage: ["node-a", "node-b"] });
  expect(all.usable).toBe(false);
  expect(all.reason).toMatch(/none of its nodes offers ephemeral-storage, which every sandbox requests \(see docs\/kubernetes\.md\)/);
  await double?.[Symbol.asyncDispose]();
  const one = await probe({ withoutEphemeralStorage: ["node-b"] });
  expect(one.usable).toBe(true);
  expect(one.reason).toMatch(/no sandbox fits on node-b, which offers no ephemeral-storage/);
});

test("if the account may not list nodes, the message says that they are unknown", async () => {
  const { usable, reason } = await probe({ withoutEphemeralStorage: ["node-a", "node-b"] }, (cluster) => cluster.forbid("list", "nodes"));
  expect(usable).toBe(true);
  expect(reason).toMatch(/the account may not list nodes, so it is unknown whether they offer ephemeral-storage/);
});

test("storage classes are not checked if the account may not list them", async () => {
  expect(await probe({ storageClasses: [] }, (cluster) => cluster.forbid("list", "storageclasses"))).toMatchObject({ usable: true });
});

test("a missing cluster or kubeconfig is named", async () => {
  const { usable, reason } = await probe({}, undefined, null).then(async () => {
    await double!.goAway();
    const answer = await probeKubernetes({ kubeconfig: double!.kubeconfig, namespace: null, storageClass: null });
    await double!.comeBack();
    return answer;
  });
  expect(usable).toBe(false);
  expect(reason).toMatch(/^No cluster answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\.$/);
  expect((await probeKubernetes({ kubeconfig: "/nowhere/kubeconfig", namespace: null, storageClass: null })).reason).toBe(
    "No kubeconfig can be read (ENOENT). Set BERTH_KUBECONFIG, or run the server inside the cluster.",
  );
});
