import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { templateHash } from "../../templates.ts";
import { filled, statesOf } from "../testing/pool-states.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";
import { createCapacity } from "./capacity.ts";
import { reserveNew, swapForWarm } from "./reserve.ts";

test("a create takes a warm sandbox without calling the engine, and the pool is refilled", async () => {
  let creates = 0;
  await using services = await openTestSessions({
    poolSize: 2,
    wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (creates++, driver.create(...args)) }),
  });
  await services.start();
  await filled(services, 2);
  const session = await services.sessions.create(services.acme, aRequest({ envVars: { A: "1" } }));
  expect(session).toMatchObject({ status: "running", externalUserId: "user-1", timeoutMs: 60 * MINUTE });
  await expect.poll(() => statesOf(services)).toEqual(["running", "warm", "warm"]);
  expect(creates).toBe(3);
});

test("a create that needs nothing special takes a warm sandbox without calling its daemon, which has been started before", async () => {
  await using services = await openTestSessions({ poolSize: 2, modelEnv: (sandboxId) => ({ MODEL_TOKEN: sandboxId }) });
  const starts = vi.spyOn(services.links, "start");
  await services.start();
  await filled(services, 2);
  const { sandboxId } = await services.sessions.create(services.acme, aRequest());
  expect(starts).not.toHaveBeenCalled();
  const response = await services.links.request(sandboxId, { method: "POST", path: "/exec", body: '{"command":"echo $MODEL_TOKEN"}' });
  expect(await text(response.body)).toContain(sandboxId);
  expect(await services.store.db.selectFrom("events").select("type").execute()).toEqual([{ type: "session.created" }]);
  await services.sessions.create(services.acme, aRequest({ envVars: { A: "1" } }));
  expect(starts).toHaveBeenCalledOnce();
});

test("if a warm sandbox has died unnoticed, the create gets a new one", async () => {
  await using services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(services, 1);
  const [warm] = await services.driver.list(AbortSignal.timeout(30_000));
  await services.driver.destroy(warm!.id, AbortSignal.timeout(30_000));
  await expect.poll(() => services!.links.isPrepared(warm!.id)).toBe(false);
  const session = await services.sessions.create(services.acme, aRequest());
  expect(session.status).toBe("running");
  expect(session.sandboxId).not.toBe(warm!.id);
});

test("a crash loop never creates more sandboxes than the pool's size", async () => {
  await using services = await openTestSessions({ poolSize: 2 });
  await services.start();
  await filled(services, 2);
  for (let crash = 0; crash < 3; crash++) {
    const successor = services.another();
    await successor.start();
    await successor[Symbol.asyncDispose]();
  }
  expect(await statesOf(services)).toEqual(["warm", "warm"]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
});

test("a create that waits for the engine takes a warm sandbox that becomes free meanwhile", async () => {
  const engine = withoutFirstCreate();
  await using services = await openTestSessions({
    poolSize: 1,
    // The create must still be waiting when the pool has a sandbox, also on a busy machine.
    stepTimeoutMs: 90_000,
    wrapDriver: engine.wrap,
  });
  const creating = services.sessions.create(services.acme, aRequest({ envVars: { A: "1" }, metadata: { plan: "pro" } }));
  const abandoned = await engine.firstCreate;
  await services.start();
  const session = await creating;
  expect(session).toMatchObject({ status: "running", externalUserId: "user-1", metadataJson: '{"plan":"pro"}' });
  expect(session.sandboxId).not.toBe(abandoned);
  // Nothing is left of the sandbox that the create waited for, and the pool is refilled.
  await expect.poll(() => statesOf(services)).toEqual(["running", "warm"]);
  expect((await services.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id)).not.toContain(abandoned);
});

test("a create that swaps to a warm sandbox counts once against a quota", async () => {
  const engine = withoutFirstCreate();
  await using services = await openTestSessions({
    poolSize: 1,
    // The create must still be waiting when the pool has a sandbox, also on a busy machine.
    stepTimeoutMs: 90_000,
    wrapDriver: engine.wrap,
  });
  const creating = services.sessions.create({ id: "acme", maxSessions: 1, maxSessionsPerUser: 1, idleTimeoutMs: null }, aRequest());
  await engine.firstCreate;
  await services.start();
  expect((await creating).status).toBe("running");
});

test("a server that dies right after a swap leaves nothing behind", async () => {
  await using services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(services, 1);
  const template = services.deps.templates.get("default")!;
  const site = { driver: services.driver.name, host: "test" };
  const lease = () => ({ owner: "a dead server", untilMs: services.clock.now() + MINUTE });
  const deps = { ...services.deps, site, lease, capacity: createCapacity(site, "sqlite", { maxSandboxes: 100, reserveBytes: 0 }) };
  const kind = { template, templateHash: templateHash(template, services.driver.traits.recipe) };
  const wanted = { kind, partner: services.acme, request: aRequest() };
  const row = await reserveNew(deps, wanted);
  const share = { keep: () => 0 };
  expect(await swapForWarm(deps, wanted, row, share)).toMatchObject({
    claimed: { state: "creating" },
    discarded: { id: row.id, state: "discarding" },
  });
  // There is no second warm sandbox, and a row that has changed is not swapped again.
  expect(await swapForWarm(deps, wanted, row, share)).toBeNull();
  await services.another({ poolSize: 0 }).reconcile.run({ predecessors: true });
  expect(await statesOf(services)).toEqual([]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toEqual([]);
});

// An engine that never finishes the first create.
function withoutFirstCreate() {
  const firstCreate = Promise.withResolvers<string>();
  let isFirst = true;
  const wrap = (driver: Driver): Driver => ({
    ...driver,
    create(spec, signal) {
      if (!isFirst) return driver.create(spec, signal);
      isFirst = false;
      firstCreate.resolve(spec.id);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });
  // Resolves with the id of the sandbox when the create begins.
  return { wrap, firstCreate: firstCreate.promise };
}
