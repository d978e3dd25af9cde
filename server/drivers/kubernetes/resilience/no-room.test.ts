import { describe, expect, test } from "vitest";
import { claimsLeft } from "../../../../tests/support/kubernetes/driver.ts";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { exec } from "../../testing/driver.suite.ts";
import { deadline, kinds, newSpec, openClusters } from "./clusters.ts";

// A cluster without room, on the test double.
const { start } = openClusters();

describe.each(kinds)("$workload", ({ crds }) => {
  const sameInBothKinds = machine.sameInVariants(!crds);

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
