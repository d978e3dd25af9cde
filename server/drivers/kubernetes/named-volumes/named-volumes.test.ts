import { newId, type VolumeId } from "@berth/contract";
import { afterEach, expect, test } from "vitest";
import { MISSING_IMAGE, type KubernetesDouble } from "../../../../tests/support/kubernetes/double.ts";
import { openDouble } from "../../../../tests/support/kubernetes/driver.ts";
import { faultsOf } from "../../../../tests/support/kubernetes/schema.ts";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import type { SandboxSpec, SandboxVolume } from "../../driver.ts";
import { connectCluster } from "../cluster/connect.ts";
import { mountsLabel, nameOf, volumeNameOf } from "../cluster/names.ts";
import { createNamedVolumes, type NamedVolumesOptions } from "./named-volumes.ts";

const deadline = () => AbortSignal.timeout(30_000);
let ids = 0;
const newVolume = (): SandboxVolume => ({ id: newId("vol", ++ids), path: `/home/user/${ids}`, mode: "ro", sizeMb: 32 });
const specOf = (...volumes: SandboxVolume[]): SandboxSpec => ({
  id: newId("sbx", ++ids),
  template: DEFAULT_TEMPLATE,
  tokenHash: "0".repeat(64),
  volumes,
});

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function start(...[options]: Parameters<typeof openDouble>) {
  const { double, open } = await openDouble(options);
  stack.use(double);
  const { cluster, namespace } = await connectCluster({ kubeconfig: double.kubeconfig, namespace: null });
  stack.use(cluster);
  const volumesWith = (settings: Partial<NamedVolumesOptions> = {}) =>
    createNamedVolumes({ cluster, namespace, installation: "suite", storageClass: null, access: "ReadWriteOnce", ...settings });
  return { double, open, volumesWith };
}

// A pod of another sandbox. It never starts, but has a node.
async function occupy({ objects, kubelet }: KubernetesDouble, name: string, mounted: readonly VolumeId[] = []): Promise<string> {
  const labels = Object.fromEntries(mounted.map((id) => [mountsLabel(id), ""]));
  const spec = { containers: [{ name: "sandbox", image: MISSING_IMAGE }] };
  objects.create("pods", { metadata: { name, labels: { "berth.dev/installation": "suite", ...labels } }, spec });
  await expect.poll(() => kubelet.nodeOf(name)).toBeDefined();
  return kubelet.nodeOf(name)!;
}

test("a volume is one claim with its size, and with the class and the access mode of the settings", async () => {
  const { double, volumesWith } = await start();
  const [once, many] = [newVolume(), newVolume()];
  const inUse = await occupy(double, "other", [once.id, many.id]);
  const shared = volumesWith({ access: "ReadWriteMany", storageClass: "standard" });
  expect(await volumesWith().prepare("sbx-1", [once], deadline())).toEqual([once.id]);
  // Claims keep the mode with which they were created.
  expect(await shared.prepare("sbx-1", [once, many], deadline())).toEqual([once.id]);
  expect(await volumesWith().prepare("sbx-1", [many], deadline())).toEqual([]);
  const claimOf = ({ id }: SandboxVolume) => double.objects.get("persistentvolumeclaims", volumeNameOf(id));
  expect(claimOf(once)).toMatchObject({
    metadata: { labels: { "app.kubernetes.io/managed-by": "berth", "berth.dev/installation": "suite" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "32Mi" } } },
  });
  expect(faultsOf(JSON.parse(JSON.stringify(claimOf(once))) as object)).toEqual([]);
  expect(claimOf(once)!.spec).not.toHaveProperty("storageClassName");
  expect(claimOf(many)!.spec).toMatchObject({ accessModes: ["ReadWriteMany"], storageClassName: "standard" });
  expect(inUse).toBe("node-a");
  expect((await shared.list(deadline())).toSorted()).toEqual([once.id, many.id].toSorted());
  expect(await volumesWith({ installation: "another" }).list(deadline())).toEqual([]);
});

test("one volume in use decides about the node, and volumes in use on different nodes are refused", async () => {
  const { double, volumesWith } = await start({ podsPerNode: 1 });
  const volumes = volumesWith();
  const [one, two, free] = [newVolume(), newVolume(), newVolume()];
  expect(await occupy(double, "a", [one.id])).toBe("node-a");
  expect(await occupy(double, "b", [two.id])).toBe("node-b");
  expect(await volumes.prepare("sbx-1", [free, newVolume()], deadline())).toHaveLength(2);
  expect(await volumes.prepare("sbx-1", [free, two], deadline())).toEqual([two.id]);
  await expect(volumes.prepare("sbx-1", [one, free, two], deadline())).rejects.toMatchObject({
    code: "capacity_reached",
    message: "The volumes of this session are in use on different nodes of the cluster; pause or destroy a session that uses one of them",
  });
});

test("a claim that the cluster refuses is explained", async () => {
  const { double, volumesWith } = await start();
  const prepare = () => volumesWith().prepare("sbx-1", [newVolume()], deadline());
  double.refuse("create", "persistentvolumeclaims", 'persistentvolumeclaims "x" is forbidden: exceeded quota: berth-sandboxes');
  await expect(prepare()).rejects.toMatchObject({
    code: "capacity_reached",
    message: expect.stringContaining("quota of storage has no room") as string,
  });
  double.refuse("create", "persistentvolumeclaims", "maximum storage usage per PersistentVolumeClaim is 5Gi");
  await expect(prepare()).rejects.toMatchObject({
    code: "sandbox_failed",
    message: expect.stringContaining("has refused a volume") as string,
  });
  double.forbid("list", "persistentvolumeclaims");
  expect(await volumesWith().list(deadline())).toEqual([]);
});

test("a removal waits until the claim is gone, and no sandbox mounts it meanwhile", async () => {
  const { double, volumesWith } = await start();
  const volumes = volumesWith();
  const volume = newVolume();
  await volumes.prepare("sbx-1", [volume], deadline());
  const garbage = double.holdGarbage();
  let isRemoved = false;
  const removal = volumes.remove(volume.id, deadline()).then(() => (isRemoved = true));
  await expect
    .poll(() => volumes.prepare("sbx-1", [volume], deadline()).catch((error: unknown) => error))
    .toMatchObject({
      code: "sandbox_failed",
      message: "A volume of the session is being deleted",
    });
  expect([isRemoved, await volumes.list(deadline())]).toEqual([false, [volume.id]]);
  garbage[Symbol.dispose]();
  await removal;
  expect(await volumes.list(deadline())).toEqual([]);
});

testWith(machine.root, "sandboxes that share a ReadWriteOnce volume run on one node", async () => {
  const { double, open } = await start({ podsPerNode: 2 });
  const driver = stack.use(await open({ scheduleWaitMs: 0 }));
  const [cache, other] = [newVolume(), newVolume()];
  for (const name of ["busy-1", "busy-2"]) expect(await occupy(double, name)).toBe("node-a");
  const [first, second] = [specOf(cache), specOf(other, cache)];
  await driver.create(first, deadline());
  for (const name of ["busy-1", "busy-2"]) double.kubelet.deletePod(name);
  await driver.create(second, deadline());
  expect([first, second].map(({ id }) => double.kubelet.nodeOf(nameOf(id)))).toEqual(["node-b", "node-b"]);
  await expect(driver.create(specOf(cache), deadline())).rejects.toMatchObject({ code: "capacity_reached" });
});

test("a volume that the storage does not provide fails the session with the reason: at once if only an operator can help", async () => {
  const { double, open } = await start();
  const driver = stack.use(await open({ volumeStorageClass: "missing" }));
  const [never, later] = [newVolume(), newVolume()];
  const name = volumeNameOf(later.id);
  const { uid } = double.objects.create("persistentvolumeclaims", { metadata: { name } })!.metadata;
  double.objects.setStatus("persistentvolumeclaims", name, { phase: "Pending" });
  const event = { metadata: { name }, reason: "ProvisioningFailed", message: "the pool is full", involvedObject: { name, uid } };
  double.objects.create("events", event);
  await expect(driver.create(specOf(never), deadline())).rejects.toMatchObject({
    code: "sandbox_failed",
    message: "The cluster's storage cannot provide a volume of this session; its operator sees why",
    cause: { message: expect.stringContaining('storageclass.storage.k8s.io "missing" not found') as string },
  });
  const caller = new AbortController();
  const creation = driver.create(specOf(later), caller.signal).catch((error: unknown) => error);
  // The driver has read the events of the claim, and waits.
  const before = double.calls.length;
  const eventsRead = () => double.calls.indexOf("GET events", before);
  await expect.poll(() => eventsRead() >= 0 && double.calls.includes("GET sandboxes", eventsRead()), { timeout: 10_000 }).toBe(true);
  caller.abort();
  expect(await creation).toMatchObject({
    code: "capacity_reached",
    message: "The cluster's storage has not provided a volume of this session in time",
    cause: { message: expect.stringContaining("the pool is full") as string },
  });
  expect(double.objects.list("pods")).toEqual([]);
});
