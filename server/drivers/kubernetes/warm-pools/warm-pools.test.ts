import { createHash } from "node:crypto";
import { newId } from "@berth/contract";
import { afterEach, expect, test } from "vitest";
import type { DoubleOptions, KubernetesDouble } from "../../../../tests/support/kubernetes/double.ts";
import { openDouble, uncollected, warmPoolOf } from "../../../../tests/support/kubernetes/driver.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import type { SandboxSpec } from "../../driver.ts";
import { exec } from "../../testing/driver.suite.ts";
import type { KubernetesOptions } from "../kubernetes.ts";
import { nameOf } from "../cluster/names.ts";

// The behaviour that is specific to sandboxes from a SandboxWarmPool. kubernetes.test.ts tests the contract of a driver for them.
const deadline = (ms = 30_000) => AbortSignal.timeout(ms);
const newSpec = (): SandboxSpec => ({
  id: newId("sbx", Date.now()),
  template: { ...DEFAULT_TEMPLATE, diskMb: 256 },
  tokenHash: createHash("sha256").update("a token of the suite").digest("hex"),
});

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function start(cluster: Partial<DoubleOptions> = {}, overrides: Partial<KubernetesOptions> = {}) {
  const { double, open } = await openDouble({ warmPools: { ready: 1 }, ...cluster });
  stack.use(double);
  const openDriver = async (options: Partial<KubernetesOptions> = {}) =>
    stack.use(await open({ ...warmPoolOf("ready"), ...overrides, ...options }));
  return { double, driver: await openDriver(), openDriver };
}

const poolIsReady = ({ objects }: KubernetesDouble) =>
  expect.poll(() => objects.get("sandboxwarmpools", "ready")?.status?.["readyReplicas"]).toBe(1);
const sandboxOf = ({ objects }: KubernetesDouble, { id }: SandboxSpec) =>
  objects.list("sandboxes", `berth.dev/sandbox=${nameOf(id)}`).map(({ metadata }) => metadata.name!);

test("a session gets a waiting pod, and the pool creates another one, which no session with other resources gets", async () => {
  const { double, driver } = await start();
  await poolIsReady(double);
  const [waiting] = double.objects.list("pods");
  const spec = newSpec();
  await driver.create(spec, deadline());
  expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  expect(sandboxOf(double, spec)).toEqual([waiting!.metadata.name]);
  await expect.poll(() => double.objects.list("pods")).toHaveLength(2);
  await poolIsReady(double);
  const [next] = double.objects.list("sandboxes", "agents.x-k8s.io/warm-pool-sandbox=ready");
  const larger = newSpec();
  await driver.create({ ...larger, template: { ...larger.template, memoryMb: 512 } }, deadline());
  expect(sandboxOf(double, larger)).toEqual([nameOf(larger.id)]);
  const { uid, name, labels } = next!.metadata;
  expect(double.objects.get("sandboxes", name!)).toMatchObject({ metadata: { uid, labels } });
});

test("the pool's template contains no secret, and adds no network policy", async () => {
  const { double } = await start({}, { egress: "127.0.0.1:3129" });
  const template = double.objects.get("sandboxtemplates", "ready")!;
  expect(template.spec).toMatchObject({ networkPolicyManagement: "Unmanaged", service: false });
  const { podTemplate } = template.spec as unknown as { podTemplate: { spec: { containers: { env: { name: string }[] }[] } } };
  expect(podTemplate.spec.containers[0]?.env.map(({ name }) => name)).toEqual([
    "BERTH_ADOPT_KEY",
    "BERTH_LISTEN",
    "BERTH_WORKSPACE",
    "BERTH_HOME",
    "BERTH_EGRESS",
    "HOME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "BERTH_ADOPT_NAME",
  ]);
});

test("the second pod of a sandbox from a pool is like that of any other sandbox, also if no pool is configured any more", async () => {
  const { double, driver, openDriver } = await start();
  const spec = newSpec();
  await driver.create(spec, deadline());
  await exec(driver, spec.id, "echo kept > note");
  await driver.hibernate(spec.id, deadline());
  await driver.resume({ ...spec, template: { ...spec.template, image: "example.com/tools:2" } }, deadline());
  expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  const [name] = sandboxOf(double, spec);
  const pod = double.objects.get("pods", name!)!.spec as unknown as { containers: { image: string; env: { name: string }[] }[] };
  expect(pod.containers[0]!.env.map((variable) => variable.name)).toContain("BERTH_TOKEN_HASH");
  expect(pod.containers[0]!.image).toBe("example.com/tools:2");
  const plain = await openDriver({ warmPools: undefined });
  expect(await plain.list(deadline())).toEqual([{ id: spec.id, condition: "running" }]);
  await plain.pause(spec.id, deadline());
  await plain.resume(spec, deadline());
  expect(await exec(plain, spec.id, "cat note")).toBe("kept\n");
  await plain.destroy(spec.id, deadline());
  expect(await uncollected(double, spec.id)).toEqual([]);
});

test("a new sandbox is started if the pool is empty", async () => {
  const { double, driver } = await start({ warmPools: { ready: 0 } });
  const spec = newSpec();
  await driver.create(spec, deadline());
  expect(sandboxOf(double, spec)).toEqual([nameOf(spec.id)]);
  expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  await driver.destroy(spec.id, deadline());
  expect(await uncollected(double, spec.id)).toEqual([]);
});

test("pods from before a rotation of the master key are adopted with the older key", async () => {
  const { double, openDriver } = await start();
  await poolIsReady(double);
  const pool = double.objects.get("sandboxwarmpools", "ready")!;
  double.objects.merge("sandboxwarmpools", "ready", { spec: { ...pool.spec, updateStrategy: { type: "OnReplenish" } } });
  const { warmPools } = warmPoolOf("ready");
  const rotated = await openDriver({ warmPools: { ...warmPools!, seeds: [Buffer.alloc(32, 8), ...warmPools!.seeds] } });
  const waiting = double.objects.list("pods").map(({ metadata }) => metadata.name);
  const spec = newSpec();
  await rotated.create(spec, deadline());
  expect(waiting).toContain(sandboxOf(double, spec)[0]);
  expect(await exec(rotated, spec.id, "echo ok")).toBe("ok\n");
});

test("pods with an unknown key are refused, and the claim is removed", async () => {
  const { double, openDriver } = await start();
  await poolIsReady(double);
  const pool = double.objects.get("sandboxwarmpools", "ready")!;
  double.objects.merge("sandboxwarmpools", "ready", { spec: { ...pool.spec, updateStrategy: { type: "OnReplenish" } } });
  const other = await openDriver({ warmPools: { ...warmPoolOf("ready").warmPools!, seeds: [Buffer.alloc(32, 8)] } });
  const spec = newSpec();
  await expect(other.create(spec, deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
  expect(await uncollected(double, spec.id)).toEqual([]);
});

test("an unfinished claim is listed, and can be completed or destroyed", async () => {
  const { double, driver } = await start();
  const [one, two] = [newSpec(), newSpec()];
  for (const { id } of [one, two]) {
    const name = nameOf(id);
    const labels = { "berth.dev/installation": "suite", "berth.dev/sandbox": name };
    const spec = { warmPoolRef: { name: "ready" }, additionalPodMetadata: { annotations: { "berth.dev/sandbox": name } } };
    double.objects.create("sandboxclaims", { metadata: { name, labels }, spec });
    await expect.poll(() => double.objects.get("sandboxclaims", name)?.status?.["sandbox"]).toBeDefined();
  }
  const listed = await driver.list(deadline());
  expect(listed.map(({ condition }) => condition)).toEqual(["stopped", "stopped"]);
  await driver.create(one, deadline());
  expect(await exec(driver, one.id, "echo ok")).toBe("ok\n");
  await driver.destroy(two.id, deadline());
  expect(await uncollected(double, two.id)).toEqual([]);
  expect(await driver.list(deadline())).toEqual([{ id: one.id, condition: "running" }]);
});

test("after a Sandbox was deleted by hand, the claim's next Sandbox does not count as the same one", async () => {
  const { double, driver } = await start();
  const spec = newSpec();
  await driver.create(spec, deadline());
  double.objects.remove("sandboxes", sandboxOf(double, spec)[0]!);
  await expect.poll(() => driver.inspect(spec.id, deadline())).toBe("absent");
  await expect(driver.resume(spec, deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
  await driver.destroy(spec.id, deadline());
  expect(await uncollected(double, spec.id)).toEqual([]);
});

test("a claimed sandbox on a lost node is stopped, and resumes on another node", async () => {
  const { double, driver } = await start({ warmPools: { ready: 0 } }, { stuckMs: 200 });
  const spec = newSpec();
  await driver.create(spec, deadline());
  await exec(driver, spec.id, "echo kept > note");
  double.kubelet.loseNode("node-a");
  await expect.poll(() => driver.inspect(spec.id, deadline())).toBe("stopped");
  expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
  expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
});

test("a server with newer settings updates the template, and the waiting sandboxes are replaced", async () => {
  const { double, openDriver } = await start({}, { egress: "127.0.0.1:3129" });
  await poolIsReady(double);
  const egressOf = (kind: string) => double.objects.list(kind).map((object) => /127\.0\.0\.1:\d+/.exec(JSON.stringify(object.spec))?.[0]);
  expect(egressOf("sandboxes")).toEqual(["127.0.0.1:3129"]);
  const newer = await openDriver({ egress: "127.0.0.1:4129" });
  expect(egressOf("sandboxtemplates")).toEqual(["127.0.0.1:4129"]);
  await expect.poll(() => egressOf("sandboxes")).toEqual(["127.0.0.1:4129"]);
  await newer.create(newSpec(), deadline());
});

test("a missing pool or template is named", async () => {
  const { openDriver, double, driver } = await start({}, { controllerErrorMs: 200 });
  await expect(openDriver(warmPoolOf("missing"))).rejects.toThrow("there is no SandboxWarmPool missing in sandboxes");
  await expect(openDriver({ warmPools: { ...warmPoolOf("ready").warmPools!, templates: new Map() } })).rejects.toThrow(
    "names the template default, which does not exist",
  );
  double.objects.remove("sandboxwarmpools", "ready");
  await expect(driver.create(newSpec(), deadline())).rejects.toMatchObject({
    code: "sandbox_failed",
    cause: expect.objectContaining({ message: expect.stringContaining('SandboxWarmPool "ready" not found') as string }) as Error,
  });
});
