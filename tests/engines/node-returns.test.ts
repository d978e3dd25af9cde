import { afterEach, describe, expect, test } from "vitest";
import { MINUTE } from "../../server/clock.ts";
import { createTestClock } from "../../server/testing/test-clock.ts";
import { nameOf } from "../../server/drivers/kubernetes/cluster/names.ts";
import type { SessionView } from "../../server/sessions/sessions.ts";
import { aRequest, openTestSessions } from "../../server/sessions/testing/test-sessions.ts";
import { eventsAfter } from "../../server/store/events.ts";
import type { DoubleOptions } from "../support/kubernetes/double.ts";
import { openDouble } from "../support/kubernetes/driver.ts";
import { machine, testWith } from "../support/machine.ts";

// A node stops reporting for a while. Store, driver and daemons are real; the cluster is the double.
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function start(options: Partial<DoubleOptions>) {
  const { double, open } = await openDouble(options);
  stack.use(double);
  const clock = createTestClock(Date.now());
  const driver = stack.use(await open({ clock, stuckMs: 200 }));
  const services = stack.use(await openTestSessions({ wrapDriver: () => driver, host: null, clock }));
  const session = await services.sessions.create(services.acme, aRequest({ envVars: { GREETING: "hello" } }));
  const podName = options.crds ? nameOf(session.sandboxId) : `${nameOf(session.sandboxId)}-0`;
  // A create does not wait for the kubelet's report, which would otherwise follow the node's silence.
  await expect.poll(() => JSON.stringify(double.objects.get("pods", podName)?.status)).toMatch(/"type":"Ready","status":"True"/);
  const pid = () => double.kubelet.pidOf(podName);
  return { double, clock, services, session, podName, pid, firstPid: pid(), node: double.kubelet.nodeOf(podName)! };
}

type Started = Awaited<ReturnType<typeof start>>;
const statusOf = async ({ services, session }: Started) => (await services.sessions.get("acme", session.id)).status;
const eventsOf = async ({ services, session }: Started) =>
  (await eventsAfter(services.store.db, "acme", 0, 100)).filter(({ sessionId }) => sessionId === session.id).map(({ type }) => type);
const inspect = ({ services, session }: Started) => services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000));

async function run({ services }: Started, { sandboxId }: SessionView, command: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ command });
  const response = await services.links.request(sandboxId, { method: "POST", path: "/exec", headers, body });
  return await response.body.reduce((text: string, chunk) => text + String(chunk), "");
}

describe.each([
  { workload: "Sandbox", crds: true },
  { workload: "StatefulSet", crds: false },
])("$workload", ({ crds }) => {
  const sameInBothKinds = machine.sameInVariants(!crds);

  testWith(sameInBothKinds, "sessions keep running on a node that returns before its pods are evicted", async () => {
    const started = await start({ crds, evictAfterMs: null });
    const { double, services, session, node } = started;
    double.kubelet.silenceNode(node);
    expect(await inspect(started)).toBe("unreachable");
    expect(await services.reconcile.repairDifferences()).toEqual([]);
    expect(await statusOf(started)).toBe("running");
    // The node still runs, so a new connection to the daemon works.
    services.links.forget(session.sandboxId);
    expect(await run(started, session, "echo $GREETING")).toContain("hello");

    double.kubelet.returnNode(node);
    expect(await inspect(started)).toBe("running");
    expect(await services.reconcile.repairDifferences()).toEqual([]);
    expect(await statusOf(started)).toBe("running");
    expect([started.pid(), await eventsOf(started)]).toEqual([started.firstPid, ["session.created"]]);
  });

  test("an eviction pauses the session with its files, and a resume places it on another node", async () => {
    const started = await start({ crds });
    const { double, services, session, node } = started;
    await run(started, session, "echo kept > note");
    double.kubelet.silenceNode(node);
    await expect.poll(() => inspect(started)).toBe("stopped");
    await services.reconcile.repairDifferences();
    expect(await statusOf(started)).toBe("paused");
    expect(await eventsOf(started)).toEqual(["session.created", "session.failed", "session.paused"]);
    services.links.forget(session.sandboxId);
    await services.sessions.resume("acme", session.id, { autoStartAgent: false });
    expect(await run(started, session, "cat note")).toContain("kept");
    expect(double.kubelet.nodeOf(started.podName)).not.toBe(node);

    // When the old node returns, it ends its copy, which does not affect the resumed session.
    const resumedPid = started.pid();
    double.kubelet.returnNode(node);
    expect(await services.reconcile.repairDifferences()).toEqual([]);
    expect([await statusOf(started), started.pid()]).toEqual(["running", resumedPid]);
  });

  test("a sandbox that counted as lost and returns is adopted as running, with its processes", async () => {
    const started = await start({ crds, evictAfterMs: null });
    const { double, clock, services, session, node } = started;
    double.kubelet.silenceNode(node);
    await clock.advance(MINUTE);
    expect(await inspect(started)).toBe("stopped");
    await services.reconcile.repairDifferences();
    expect(await services.sessions.get("acme", session.id)).toMatchObject({ status: "paused", stopReason: "sandbox_lost" });

    double.kubelet.returnNode(node);
    expect(await services.reconcile.compare()).toEqual([{ sandboxId: session.sandboxId, sessionId: session.id, kind: "returned" }]);
    await services.reconcile.repairDifferences();
    expect(await services.sessions.get("acme", session.id)).toMatchObject({ status: "running", stopReason: null });
    expect(started.pid()).toBe(started.firstPid);
    expect(await run(started, session, "echo $GREETING")).toContain("hello");
    expect(await eventsOf(started)).toEqual(["session.created", "session.failed", "session.paused", "session.resumed"]);
    expect(await services.reconcile.repairDifferences()).toEqual([]);
  });

  testWith(sameInBothKinds, "the sandbox of a session that its partner paused is not adopted but stopped", async () => {
    const started = await start({ crds });
    const { services, session } = started;
    await services.sessions.pause("acme", session.id);
    await services.driver.resume(
      { id: session.sandboxId, template: services.deps.templates.get("default")!, tokenHash: "0".repeat(64) },
      AbortSignal.timeout(30_000),
    );
    expect(await services.reconcile.repairDifferences()).toMatchObject([{ kind: "awake" }]);
    expect([await statusOf(started), await inspect(started)]).toEqual(["paused", "stopped"]);
  });

  testWith(sameInBothKinds, "sessions keep running when the API server goes down and returns while every node is silent", async () => {
    const started = await start({ crds, evictAfterMs: null });
    const { double, services, session, node } = started;
    await double.goAway();
    await expect(services.reconcile.repairDifferences()).rejects.toMatchObject({ code: "sandbox_timeout" });
    expect(await run(started, session, "echo $GREETING")).toContain("hello");
    double.kubelet.silenceNode(node);
    await double.comeBack();
    expect(await services.reconcile.repairDifferences()).toEqual([]);
    double.kubelet.returnNode(node);
    expect(await services.reconcile.repairDifferences()).toEqual([]);
    expect([await statusOf(started), started.pid()]).toEqual(["running", started.firstPid]);
  });
});
