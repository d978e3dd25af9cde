import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "@berth/contract";
import { afterEach, describe, expect, test } from "vitest";
import { machine, testWith } from "../../../tests/support/machine.ts";
import { MISSING_IMAGE, type DoubleOptions } from "../../../tests/support/kubernetes/double.ts";
import { HOUR, MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { Driver, SandboxSpec } from "../driver.ts";
import { exec } from "../testing/driver.suite.ts";
import type { KubernetesOptions } from "./kubernetes.ts";
import { connectCluster } from "./cluster/connect.ts";
import { nameOf } from "./cluster/names.ts";
import { watchPods } from "./pods/pod-watch.ts";
import { claimsLeft, openDouble } from "../../../tests/support/kubernetes/driver.ts";

// Failures of a cluster, on the test double, with both kinds of workload.
const TOKEN = "a token of the suite";
const deadline = (ms = 30_000) => AbortSignal.timeout(ms);
const newSpec = (template: Partial<SandboxSpec["template"]> = {}): SandboxSpec => ({
  id: newId("sbx", Date.now()),
  template: { ...DEFAULT_TEMPLATE, ...template },
  tokenHash: createHash("sha256").update(TOKEN).digest("hex"),
});

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function start(doubleOptions: Partial<DoubleOptions> = {}, driverOptions: Partial<KubernetesOptions> = {}) {
  const { double, open } = await openDouble(doubleOptions);
  stack.use(double);
  const openDriver = async () => stack.use(await open(driverOptions));
  return { double, driver: await openDriver(), openDriver };
}

const podName = (crds: boolean, { id }: SandboxSpec) => (crds ? nameOf(id) : `${nameOf(id)}-0`);
const kinds = [
  { workload: "Sandbox", crds: true },
  { workload: "StatefulSet", crds: false },
];

describe.each(kinds)("$workload", ({ crds }) => {
  const sameInBothKinds = machine.sameInVariants(!crds);

  test("a sandbox on a lost node is stopped, keeps its files, and resumes on another node", async () => {
    const { double, driver } = await start({ crds }, { stuckMs: 200 });
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "echo kept > note");
    expect(double.kubelet.nodeOf(podName(crds, spec))).toBe("node-a");

    double.kubelet.loseNode("node-a");
    await expect.poll(() => driver.inspect(spec.id, deadline())).toBe("stopped");
    expect(await driver.list(deadline())).toEqual([{ id: spec.id, condition: "stopped" }]);
    await expect(driver.dial(spec.id, deadline())).rejects.toMatchObject({ code: "sandbox_unreachable" });

    expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
    expect(double.kubelet.nodeOf(podName(crds, spec))).toBe("node-b");
    expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  });

  test("a sandbox whose pod was replaced by the cluster counts as stopped, and is suspended", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "echo kept > note");
    double.kubelet.deletePod(podName(crds, spec));

    // inspect suspends the new pod.
    const look = async () => [await driver.inspect(spec.id, deadline()), double.objects.list("pods").length];
    await expect.poll(look).toEqual(["stopped", 0]);
    expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
    expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  });

  test("a sandbox whose daemon died is stopped, and resumes over the same files", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec();
    await driver.create(spec, deadline());
    await exec(driver, spec.id, "echo kept > note");
    process.kill(double.kubelet.pidOf(podName(crds, spec))!, "SIGKILL");

    await expect.poll(() => driver.inspect(spec.id, deadline())).toBe("stopped");
    expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
    expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
  });

  testWith(sameInBothKinds, "an image that cannot be pulled fails the create and leaves nothing behind", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec({ image: MISSING_IMAGE });
    await expect(driver.create(spec, deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
    await expect.poll(() => claimsLeft(double, spec.id)).toEqual([]);
  });

  testWith(sameInBothKinds, "a caller that gives up while the cluster is full gets capacity_reached", async () => {
    const { double, driver } = await start({ crds, nodes: [] });
    const spec = newSpec();
    await expect(driver.create(spec, deadline(1500))).rejects.toMatchObject({ code: "capacity_reached" });
    await expect.poll(() => claimsLeft(double, spec.id)).toEqual([]);
  });

  test("a cluster without a suitable node counts as full before the caller gives up", async () => {
    const { double, driver } = await start({ crds, nodes: [] }, { scheduleWaitMs: 200 });
    const spec = newSpec();
    const signal = deadline();
    await expect(driver.create(spec, signal)).rejects.toMatchObject({ code: "capacity_reached", retryAfterSeconds: 10 });
    expect(signal.aborted).toBe(false);
    await expect.poll(() => claimsLeft(double, spec.id)).toEqual([]);
  });

  testWith(sameInBothKinds, "a create waits while an autoscaler adds a node", async () => {
    const { double, driver } = await start({ crds, nodes: [] }, { scheduleWaitMs: 0 });
    const spec = newSpec();
    // The autoscaler is faster than the driver looks.
    double.objects.onChange(({ kind, type, object: { metadata } }) => {
      const { name, uid } = metadata;
      const event = { metadata: { name: `${name}.scale-up` }, reason: "TriggeredScaleUp", involvedObject: { name: name!, uid: uid! } };
      if (kind === "pods" && type === "ADDED") double.objects.create("events", event);
    });
    const waiting = driver.create(spec, deadline());
    // The driver has read the events and continues to wait.
    const asked = () => double.calls.filter((call) => call === "GET events").length;
    await expect.poll(asked).toBeGreaterThan(1);
    expect([driver.roomOf!(spec.id), driver.isFull!()]).toEqual(["none", true]);
    double.kubelet.addNode("node-new");
    await waiting;
    expect([driver.roomOf!(spec.id), driver.isFull!()]).toEqual(["given", false]);
    expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  });

  test("an exceeded quota is reported as capacity_reached", async () => {
    const { double, driver } = await start(
      { crds, refusePod: () => "pods is forbidden: exceeded quota: sandboxes" },
      { controllerErrorMs: 200 },
    );
    const spec = newSpec();
    await expect(driver.create(spec, deadline())).rejects.toMatchObject({ code: "capacity_reached" });
    await expect.poll(() => claimsLeft(double, spec.id)).toEqual([]);
  });

  test("a pod of an earlier workload with the same name is ignored", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec();
    const kind = crds ? "sandboxes" : "statefulsets";
    const pod = () => double.objects.get("pods", podName(crds, spec))!.metadata;
    const looks = () => double.calls.filter((call) => call === "GET pods").length;
    await driver.create(spec, deadline());
    const left = pod().uid;
    const garbage = double.holdGarbage();
    double.objects.remove(kind, nameOf(spec.id));
    // The old pod still answers, under the name that the next one will have.
    const looksBefore = looks();
    let created = false;
    const creating = driver.create(spec, deadline()).then(() => (created = true));
    // A second read proves that the driver has not accepted the old pod.
    await expect.poll(() => created || looks() >= looksBefore + 2).toBe(true);
    expect(created).toBe(false);
    garbage[Symbol.dispose]();
    await creating;
    expect(pod()).toMatchObject({ ownerReferences: [{ uid: double.objects.get(kind, nameOf(spec.id))!.metadata.uid }] });
    expect(pod().uid).not.toBe(left);
    expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  });

  test("a changed template applies at the next resume", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec();
    await driver.create(spec, deadline());
    await driver.hibernate(spec.id, deadline());
    await driver.resume({ ...spec, template: { ...spec.template, memoryMb: 333 } }, deadline());
    expect(JSON.stringify(double.objects.get("pods", podName(crds, spec))?.spec)).toContain('"memory":"333Mi"');
  });

  testWith(
    sameInBothKinds,
    "a denial is retried while the API server loads its roles, and is then reported as engine_unavailable",
    async () => {
      const { double, driver } = await start({ crds });
      const spec = newSpec();
      double.failNext(2, 403);
      await driver.create(spec, deadline());
      double.failNext(1000, 403);
      const refused = { code: "engine_unavailable", status: 503, retryAfterSeconds: 5 };
      await Promise.all([
        expect(driver.create(newSpec(), deadline())).rejects.toMatchObject(refused),
        expect(driver.pause(spec.id, deadline())).rejects.toMatchObject(refused),
      ]);
      double.failNext(0, 200);
      expect(await driver.inspect(spec.id, deadline())).toBe("running");
    },
  );

  testWith(sameInBothKinds, "three servers can use one sandbox", async () => {
    const { openDriver } = await start({ crds });
    const [one, two, three] = (await Promise.all([openDriver(), openDriver(), openDriver()])) as [Driver, Driver, Driver];
    const spec = newSpec();
    await one.create(spec, deadline());
    await exec(two, spec.id, "echo kept > note");
    await three.pause(spec.id, deadline());
    await expect(one.dial(spec.id, deadline())).rejects.toMatchObject({ code: "sandbox_unreachable" });
    expect(await two.resume(spec, deadline())).toEqual({ restarted: true });
    expect(await two.resume(spec, deadline())).toEqual({ restarted: false });
    for (const server of [one, two, three]) expect(await exec(server, spec.id, "cat note")).toBe("kept\n");
  });
});

test("the driver recovers from broken watches and expired resource versions", async () => {
  const { double, driver } = await start();
  const spec = newSpec();
  await driver.create(spec, deadline());
  for (let round = 0; round < 3; round++) {
    double.dropWatches();
    double.objects.compact();
    await driver.pause(spec.id, deadline());
    double.dropWatches();
    await driver.resume(spec, deadline());
    expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  }
});

test("sessions continue while the API server is down, and operations wait until it is back", async () => {
  const { double, driver } = await start();
  const spec = newSpec();
  await driver.create(spec, deadline());
  await double.goAway();
  expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
  await Promise.all([
    expect(driver.pause(spec.id, deadline())).rejects.toMatchObject({ code: "sandbox_timeout" }),
    expect(driver.list(deadline())).rejects.toMatchObject({ code: "sandbox_timeout" }),
  ]);
  await double.comeBack();
  await driver.pause(spec.id, deadline());
  await driver.resume(spec, deadline());
  expect(await exec(driver, spec.id, "echo back")).toBe("back\n");
});

test("after an outage that left dead connections, a create takes some seconds longer, and the watch recovers", async () => {
  const { double, driver } = await start();
  await driver.create(newSpec(), deadline());
  double.goSilent();
  const spec = newSpec();
  const began = performance.now();
  await driver.create(spec, deadline(60_000));
  expect(performance.now() - began).toBeLessThan(15_000);
  await expect.poll(() => driver.roomOf!(spec.id)).toBe("given");
});

test("a change of the pod while it is read is not missed", async () => {
  // No later change wakes the driver.
  const { double, driver } = await start({ readyDelayMs: 30_000 });
  const times = double.delayAnswers("GET pods", 300);
  let startedMs = Infinity;
  double.objects.onChange(({ kind, object: { status } }) => {
    if (kind === "pods" && status?.["phase"] === "Running") startedMs = Math.min(startedMs, performance.now());
  });
  const creating = driver.create(newSpec(), deadline());
  const scheduling = double.kubelet.holdScheduling();
  const created = () => double.objects.list("pods").length > 0 && times.length > 1;
  await expect.poll(created, { interval: 5 }).toBe(true);
  scheduling[Symbol.dispose]();
  await creating;
  expect(Math.min(...times.filter((time) => time > startedMs)) - startedMs).toBeLessThan(1_000);
});

test("creates look once whether their sandbox exists, and the more of them wait for a pod, the less often each one asks", async () => {
  // The extensions are installed, so a sandbox may come from a warm pool.
  const { double, driver } = await start({ warmPools: {} });
  using _held = double.kubelet.holdScheduling();
  const giveUp = new AbortController();
  const create = () => driver.create(newSpec(), giveUp.signal).catch(() => {});
  const waiting = [create()];
  const pods = () => double.objects.list("pods").length;
  await expect.poll(pods).toBe(1);
  const asked = double.calls.filter((call) => call.endsWith("sandboxes"));
  expect(asked.slice(0, 2)).toEqual(["GET sandboxes", "POST sandboxes"]);

  for (let i = 1; i < 20; i++) waiting.push(create());
  await expect.poll(pods).toBe(20);
  const [callsBefore, beganMs] = [double.calls.length, performance.now()];
  await sleep(2_200);
  // A read of the Sandbox and of its pod, every 2.9 seconds.
  const reads = 20 * 2 * (1 + (performance.now() - beganMs) / 2_900);
  expect(double.calls.length - callsBefore).toBeLessThanOrEqual(reads);
  giveUp.abort();
  await Promise.all(waiting);
});

test("creates that find no room at the same time search the events together", async () => {
  const { double, driver } = await start({ nodes: [] }, { scheduleWaitMs: 1_000 });
  double.delayAnswers("GET events", 1_000);
  const refused = Array.from({ length: 8 }, () =>
    expect(driver.create(newSpec(), deadline())).rejects.toMatchObject({ code: "capacity_reached" }),
  );
  await Promise.all(refused);
  // A search is a list for each of two reasons. A create that was slow may have missed the first search.
  expect(double.calls.filter((call) => call === "GET events").length).toBeLessThanOrEqual(4);
});

test("a create whose pod gets a node during the search of the events is not refused", async () => {
  const { double, driver } = await start({ nodes: [] }, { scheduleWaitMs: 0 });
  const searches = double.delayAnswers("GET events", 1_000);
  const spec = newSpec();
  const creating = driver.create(spec, deadline());
  await expect.poll(() => searches.length, { interval: 10 }).toBeGreaterThan(0);
  double.kubelet.addNode("node-new");
  await creating;
  expect(await exec(driver, spec.id, "echo ok")).toBe("ok\n");
});

test("a broken watch starts again as soon as the API server answers another call", async () => {
  const { double } = await start();
  const { cluster, namespace } = await connectCluster({ kubeconfig: double.kubeconfig, namespace: null });
  stack.use(cluster);
  const waits = Promise.withResolvers<void>();
  let isDown = true;
  const list: typeof cluster.list = (...args) => (isDown ? Promise.reject(new Error("down")) : cluster.list(...args));
  const log = { ...silentLog, warn: (_: string, fields?: object) => void (JSON.stringify(fields).includes("1600") && waits.resolve()) };
  stack.use(watchPods({ cluster: { ...cluster, list }, namespace, installation: "suite", log }));
  await waits.promise;
  isDown = false;
  const listed = () => double.calls.filter((call) => call === "GET pods").length;
  const before = listed();
  await cluster.get("/version", deadline());
  // A list and a watch.
  await expect.poll(listed, { interval: 20, timeout: 1_000 }).toBe(before + 2);
});

test("a request to a busy API server is retried", async () => {
  const { double, driver } = await start();
  const spec = newSpec();
  double.failNext(3, 429);
  await driver.create(spec, deadline());
  double.failNext(2, 503);
  expect(await driver.inspect(spec.id, deadline())).toBe("running");
});

test("a workload that an admission policy refuses fails immediately", async () => {
  const { double, driver } = await start();
  double.refuse("create", "sandboxes", 'admission webhook "policy.example" denied the request: no');
  await expect(driver.create(newSpec(), deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
  expect(double.calls.filter((call) => call === "POST sandboxes")).toHaveLength(1);
});

test("the driver polls the daemon more often than the readiness probe", async () => {
  const { driver } = await start({ readyDelayMs: 30_000 });
  const began = performance.now();
  await driver.create(newSpec(), deadline());
  expect(performance.now() - began).toBeLessThan(20_000);
});

test("a sandbox is shut down with its files kept only if no server postpones it", async () => {
  const clock = createTestClock(Date.now());
  const { double, driver } = await start({}, { clock, deadManMs: HOUR });
  const spec = newSpec();
  await driver.create(spec, deadline());
  await exec(driver, spec.id, "echo kept > note");

  // Time passes for the server and for the cluster, so the server postpones the shutdown.
  for (let quarter = 0; quarter < 6; quarter++) {
    await clock.advance(15 * MINUTE);
    double.advance(15 * MINUTE);
  }
  expect(await driver.inspect(spec.id, deadline())).toBe("running");

  // Then time passes for the cluster only.
  double.advance(2 * HOUR);
  await expect.poll(() => driver.inspect(spec.id, deadline())).toBe("stopped");
  await clock.advance(2 * HOUR);
  expect(await driver.resume(spec, deadline())).toEqual({ restarted: true });
  expect(await exec(driver, spec.id, "cat note")).toBe("kept\n");
});
