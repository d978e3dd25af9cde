import { describe, expect, test } from "vitest";
import { MISSING_IMAGE } from "../../../../tests/support/kubernetes/double.ts";
import { claimsLeft } from "../../../../tests/support/kubernetes/driver.ts";
import { machine, testWith } from "../../../../tests/support/machine.ts";
import { HOUR, MINUTE } from "../../../clock.ts";
import { createTestClock } from "../../../testing/test-clock.ts";
import type { Driver } from "../../driver.ts";
import { exec } from "../../testing/driver.suite.ts";
import { nameOf } from "../cluster/names.ts";
import { deadline, kinds, newSpec, openClusters, podName } from "./clusters.ts";

// Sandboxes whose node, pod or daemon is lost, on the test double.
const { start } = openClusters();

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

  testWith(sameInBothKinds, "an image that cannot be pulled fails the create and leaves nothing behind", async () => {
    const { double, driver } = await start({ crds });
    const spec = newSpec({ image: MISSING_IMAGE });
    await expect(driver.create(spec, deadline())).rejects.toMatchObject({ code: "sandbox_failed" });
    await expect.poll(() => claimsLeft(double, spec.id)).toEqual([]);
  });
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
