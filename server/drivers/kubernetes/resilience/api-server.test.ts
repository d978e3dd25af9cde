import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { silentLog } from "../../../log.ts";
import { exec } from "../../testing/driver.suite.ts";
import { connectCluster } from "../cluster/connect.ts";
import { watchPods } from "../pods/pod-watch.ts";
import { deadline, kinds, newSpec, openClusters } from "./clusters.ts";

// An API server that is down, busy, slow or refuses calls, on the test double.
const { start, use } = openClusters();

describe.each(kinds)("$workload", ({ crds }) => {
  const sameInBothKinds = machine.sameInVariants(!crds);

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

test("a broken watch starts again as soon as the API server answers another call", async () => {
  const { double } = await start();
  const { cluster, namespace } = await connectCluster({ kubeconfig: double.kubeconfig, namespace: null });
  use(cluster);
  const waits = Promise.withResolvers<void>();
  let isDown = true;
  const list: typeof cluster.list = (...args) => (isDown ? Promise.reject(new Error("down")) : cluster.list(...args));
  const log = { ...silentLog, warn: (_: string, fields?: object) => void (JSON.stringify(fields).includes("1600") && waits.resolve()) };
  use(watchPods({ cluster: { ...cluster, list }, namespace, installation: "suite", log }));
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
