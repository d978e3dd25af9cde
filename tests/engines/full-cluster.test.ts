import { isAppError } from "@berth/contract";
import { afterEach, describe, expect } from "vitest";
import { aRequest, openTestSessions } from "../../server/sessions/testing/test-sessions.ts";
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
      const statesOf = async () =>
        (await services.store.db.selectFrom("sessions").select("state").execute()).map(({ state }) => state).sort();
      await services.start();
      await expect.poll(statesOf).toEqual(["warm", "warm"]);

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
      await expect.poll(statesOf).toEqual(Array.from({ length: 5 }, () => "running"));
      await expect.poll(() => double.objects.list("pods").length).toBe(5);
    },
  );
});
