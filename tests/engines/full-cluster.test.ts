import type { V1Pod } from "@kubernetes/client-node";
import { isAppError } from "@berth/contract";
import { afterEach, describe, expect, test } from "vitest";
import { idOf } from "../../server/drivers/kubernetes/cluster/names.ts";
import { isUnschedulable } from "../../server/drivers/kubernetes/pods/pod-state.ts";
import { aRequest, openTestSessions } from "../../server/sessions/testing/test-sessions.ts";
import { onBothEngines } from "../support/databases/stores.ts";
import { openDouble } from "../support/kubernetes/driver.ts";
import { machine, testWith } from "../support/machine.ts";

// A cluster with room for five pods, a pool of two and eight creates. Store, driver and daemons are real; the cluster is the
// double.
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

describe.each([
  { workload: "Sandbox", crds: true },
  { workload: "StatefulSet", crds: false },
])("$workload", ({ crds }) => {
  testWith(
    machine.sameInVariants(!crds),
    "callers get every free slot, the pool gets none, and the remaining callers are refused",
    async () => {
      const { double, open } = await openDouble({ crds, nodes: ["node-a"], podsPerNode: 5 });
      stack.use(double);
      const driver = stack.use(await open({ scheduleWaitMs: 3_000 }));
      const services = stack.use(await openTestSessions({ wrapDriver: () => driver, host: null, poolSize: 2 }));
      await services.start();
      await expect.poll(() => statesOf(services)).toEqual(["warm", "warm"]);

      // The scheduler runs when the pool's next sandbox exists too, and takes that one first.
      const scheduling = double.kubelet.holdScheduling();
      const calls = Array.from({ length: 8 }, (_, i) => services.sessions.create(services.acme, aRequest({ externalUserId: `user-${i}` })));
      const outcomesOf = calls.map((call) =>
        call.then(
          ({ status }) => status,
          (error: unknown) => (isAppError(error) ? error.code : String(error)),
        ),
      );
      await expect.poll(() => double.objects.list("pods").length).toBe(9);
      scheduling[Symbol.dispose]();
      const outcomes = await Promise.all(outcomesOf);
      expect(outcomes.filter((outcome) => outcome === "running")).toHaveLength(5);
      expect(outcomes.filter((outcome) => outcome === "capacity_reached")).toHaveLength(3);
      await expect.poll(() => statesOf(services)).toEqual(Array.from({ length: 5 }, () => "running"));
      await expect.poll(() => double.objects.list("pods").length).toBe(5);
    },
  );
});

onBothEngines("a slow cluster", (databases) => {
  test("creates without room are refused soon after the scheduler's verdict, however long other pods and the garbage collector take", async () => {
    const scheduleWaitMs = 500;
    const pace = { podMs: 20, scheduleMs: 300, startMs: () => 6_000, collectMs: 4_000 };
    const { double, open } = await openDouble({ nodes: ["node-a"], podsPerNode: 2, pace });
    stack.use(double);
    const drivers = [stack.use(await open({ scheduleWaitMs })), stack.use(await open({ scheduleWaitMs }))];
    const { url } = await databases.create();
    const services = stack.use(await openTestSessions({ wrapDriver: () => drivers[0]!, host: null, databaseUrl: url }));
    const servers = [services, stack.use(services.another({ driver: drivers[1]! }))];
    let verdictMs = 0;
    double.objects.onChange(({ kind, type, object }) => {
      if (kind === "pods" && type !== "DELETED" && isUnschedulable(object as V1Pod)) verdictMs = Math.max(verdictMs, performance.now());
    });
    const calls = Array.from({ length: 16 }, (_, i) => servers[i % 2]!.sessions.create(services.acme, aRequest()));
    const outcomes = await Promise.all(
      calls.map((call) =>
        call.then(
          () => ({ code: null, atMs: performance.now() }),
          (error: unknown) => ({ code: isAppError(error) ? error.code : String(error), atMs: performance.now() }),
        ),
      ),
    );
    const refused = outcomes.filter(({ code }) => code === "capacity_reached");
    expect(refused).toHaveLength(14);
    expect(Math.max(...refused.map(({ atMs }) => atMs)) - verdictMs).toBeLessThan(scheduleWaitMs + 3_000);
    expect(outcomes.filter(({ code }) => code === null)).toHaveLength(2);
    // The rest goes on in the background.
    await expect.poll(() => double.objects.list("pods").length).toBe(2);
    expect(await statesOf(services)).toEqual(["running", "running"]);
  });
});

test("a blank of another kind gives way while a create waits for room, which then needs no second pod", async () => {
  const { double, open } = await openDouble({ nodes: ["node-a"], podsPerNode: 1 });
  stack.use(double);
  const driver = stack.use(await open({ scheduleWaitMs: 30_000 }));
  const services = stack.use(await openTestSessions({ wrapDriver: () => driver, host: null, poolSize: 1 }));
  await services.start();
  await expect.poll(() => statesOf(services)).toEqual(["warm"]);
  const pods: string[] = [];
  double.objects.onChange(({ kind, type, object }) => void (kind === "pods" && type === "ADDED" && pods.push(object.metadata.name!)));
  const { sandboxId } = await services.sessions.create(services.acme, aRequest({ resources: { memoryMb: 333 } }));
  expect(pods.map(idOf)).toEqual([sandboxId]);
});

async function statesOf({ store }: Awaited<ReturnType<typeof openTestSessions>>): Promise<string[]> {
  const rows = await store.db.selectFrom("sessions").select("state").execute();
  return rows.map(({ state }) => state).sort();
}
