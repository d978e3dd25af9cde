import { text } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import { AppError, type Template } from "@berth/contract";
import { MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { loadTemplates, templateHash } from "../../templates.ts";
import { createCapacity } from "./capacity.ts";
import { reserveNew, swapForWarm } from "./reserve.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";

let services: Awaited<ReturnType<typeof openTestSessions>> | undefined;
afterEach(async () => {
  await services?.[Symbol.asyncDispose]();
  services = undefined;
});

const statesOf = async () => (await services!.store.db.selectFrom("sessions").select("state").execute()).map((row) => row.state).sort();
const filled = (size: number) => expect.poll(statesOf).toEqual(Array.from({ length: size }, () => "warm"));

test("a create takes a warm sandbox without calling the engine, and the pool is refilled", async () => {
  let creates = 0;
  services = await openTestSessions({
    poolSize: 2,
    wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (creates++, driver.create(...args)) }),
  });
  await services.start();
  await filled(2);
  const session = await services.sessions.create(services.acme, aRequest({ envVars: { A: "1" } }));
  expect(session).toMatchObject({ status: "running", externalUserId: "user-1", timeoutMs: 60 * MINUTE });
  await expect.poll(statesOf).toEqual(["running", "warm", "warm"]);
  expect(creates).toBe(3);
});

test("a create that needs nothing special takes a warm sandbox without calling its daemon, which has been started before", async () => {
  services = await openTestSessions({ poolSize: 2, modelEnv: (sandboxId) => ({ MODEL_TOKEN: sandboxId }) });
  const starts = vi.spyOn(services.links, "start");
  await services.start();
  await filled(2);
  const { sandboxId } = await services.sessions.create(services.acme, aRequest());
  expect(starts).not.toHaveBeenCalled();
  const answer = await services.links.request(sandboxId, { method: "POST", path: "/exec", body: '{"command":"echo $MODEL_TOKEN"}' });
  expect(await text(answer.body)).toContain(sandboxId);
  expect(await services.store.db.selectFrom("events").select("type").execute()).toEqual([{ type: "session.created" }]);
  await services.sessions.create(services.acme, aRequest({ envVars: { A: "1" } }));
  expect(starts).toHaveBeenCalledOnce();
});

test("if a warm sandbox has died unnoticed, the create gets a new one", async () => {
  services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(1);
  const [warm] = await services.driver.list(AbortSignal.timeout(30_000));
  await services.driver.destroy(warm!.id, AbortSignal.timeout(30_000));
  await expect.poll(() => services!.links.isPrepared(warm!.id)).toBe(false);
  const session = await services.sessions.create(services.acme, aRequest());
  expect(session.status).toBe("running");
  expect(session.sandboxId).not.toBe(warm!.id);
});

test("a crash loop never creates more sandboxes than the pool's size", async () => {
  services = await openTestSessions({ poolSize: 2 });
  await services.start();
  await filled(2);
  for (let crash = 0; crash < 3; crash++) {
    const successor = services.another();
    await successor.start();
    await successor[Symbol.asyncDispose]();
  }
  expect(await statesOf()).toEqual(["warm", "warm"]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
});

test("if the template changes, the pool evicts the old sandboxes and creates new ones", async () => {
  services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(1);
  const [old] = await services.driver.list(AbortSignal.timeout(30_000));
  const changed: Template = { ...services.deps.templates.get("default")!, memoryMb: 512 };
  const successor = services.another({ templates: new Map([["default", changed]]) });
  await successor.start();
  await expect
    .poll(async () => (await services!.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id))
    .toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("if the driver's recipe changes, the pool evicts the old sandboxes and creates new ones", async () => {
  services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(1);
  const [old] = await services.driver.list(AbortSignal.timeout(30_000));
  const driver = { ...services.driver, traits: { ...services.driver.traits, recipe: "berth-sandbox:0.2.0" } };
  const successor = services.another({ driver });
  await successor.start();
  await expect
    .poll(async () => (await services!.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id))
    .toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("a create evicts another template's blank if the limit is reached, but never a session", async () => {
  const ordinary = loadTemplates(undefined).get("default")!;
  services = await openTestSessions({
    poolSize: 1,
    templates: new Map(["default", "other"].map((name) => [name, { ...ordinary, name }])),
    capacity: { maxSandboxes: 2, reserveBytes: 0 },
  });
  await services.start();
  await filled(2);
  const create = () => services!.sessions.create(services!.acme, aRequest());
  await create();
  await create();
  await expect.poll(statesOf).toEqual(["running", "running"]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
  await expect(create()).rejects.toMatchObject({ code: "capacity_reached" });
});

test("resuming a hibernated session evicts a blank if the limit is reached, but never a session", async () => {
  services = await openTestSessions({ poolSize: 1, capacity: { maxSandboxes: 2, reserveBytes: 0 } });
  await services.start();
  await filled(1);
  const expectStates = (states: string[]) => expect.poll(statesOf).toEqual(states);
  const create = () => services!.sessions.create(services!.acme, aRequest());
  const resume = (id: string) => services!.sessions.resume("acme", id, { autoStartAgent: false });
  const hibernate = async (id: string) => {
    await services!.sessions.pause("acme", id);
    await services!.clock.advance(11 * MINUTE);
  };

  const first = await create();
  await expectStates(["running", "warm"]);
  await hibernate(first.id);
  const second = await create();
  await expectStates(["paused", "running", "warm"]);
  await resume(first.id);
  await expectStates(["running", "running"]);

  await hibernate(second.id);
  await expectStates(["paused", "running", "warm"]);
  await create();
  await expectStates(["paused", "running", "running"]);
  await expect(resume(second.id)).rejects.toMatchObject({ code: "capacity_reached", retryAfterSeconds: 10 });
  expect((await services.sessions.get("acme", second.id)).status).toBe("paused");
});

// An engine with room for a number of sandboxes. A stopped one needs no room.
function withRoomFor(room: number) {
  const calls: string[] = [];
  const wrap = (driver: Driver): Driver => {
    const enter = async <Result>(id: string, act: () => Promise<Result>): Promise<Result> => {
      calls.push(id);
      const others = (await driver.list(AbortSignal.timeout(30_000))).filter(
        (sandbox) => sandbox.id !== id && sandbox.condition !== "stopped",
      );
      if (others.length >= room) throw new AppError("capacity_reached");
      return act();
    };
    return {
      ...driver,
      create: (spec, signal) => enter(spec.id, () => driver.create(spec, signal)),
      resume: (spec, signal) => enter(spec.id, () => driver.resume(spec, signal)),
    };
  };
  return { wrap, calls };
}

// `other` comes first, so that its blank is created first.
const twoTemplates = () => {
  const ordinary = loadTemplates(undefined).get("default")!;
  return new Map(["other", "default"].map((name) => [name, { ...ordinary, name }]));
};
const templatesOf = async (state: "warm" | "running") =>
  (await services!.store.db.selectFrom("sessions").select("template").where("state", "=", state).execute()).map((row) => row.template);

test("a create that waits for the engine takes a warm sandbox that becomes free meanwhile", async () => {
  const waiting = Promise.withResolvers<string>();
  let first = true;
  services = await openTestSessions({
    poolSize: 1,
    // The create must still be waiting when the pool has a sandbox, also on a busy machine.
    stepTimeoutMs: 90_000,
    wrapDriver: (driver): Driver => ({
      ...driver,
      create(spec, signal) {
        if (!first) return driver.create(spec, signal);
        first = false;
        waiting.resolve(spec.id);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    }),
  });
  const creating = services.sessions.create(services.acme, aRequest({ envVars: { A: "1" }, metadata: { plan: "pro" } }));
  const abandoned = await waiting.promise;
  await services.start();
  const session = await creating;
  expect(session).toMatchObject({ status: "running", externalUserId: "user-1", metadataJson: '{"plan":"pro"}' });
  expect(session.sandboxId).not.toBe(abandoned);
  // Nothing is left of the sandbox that the create waited for, and the pool is refilled.
  await expect.poll(statesOf).toEqual(["running", "warm"]);
  expect((await services.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id)).not.toContain(abandoned);
});

test("a create that swaps to a warm sandbox counts once against a quota", async () => {
  const waiting = Promise.withResolvers<void>();
  let first = true;
  services = await openTestSessions({
    poolSize: 1,
    // The create must still be waiting when the pool has a sandbox, also on a busy machine.
    stepTimeoutMs: 90_000,
    wrapDriver: (driver): Driver => ({
      ...driver,
      create(spec, signal) {
        if (!first) return driver.create(spec, signal);
        first = false;
        waiting.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    }),
  });
  const creating = services.sessions.create({ id: "acme", maxSessions: 1, maxSessionsPerUser: 1 }, aRequest());
  await waiting.promise;
  await services.start();
  expect((await creating).status).toBe("running");
});

test("a server that dies right after a swap leaves nothing behind", async () => {
  services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(1);
  const template = services.deps.templates.get("default")!;
  const home = { driver: services.driver.name, host: "test" };
  const lease = () => ({ owner: "a dead server", untilMs: services!.clock.now() + MINUTE });
  const deps = { ...services.deps, home, lease, capacity: createCapacity(home, "sqlite", { maxSandboxes: 100, reserveBytes: 0 }) };
  const kind = { template, templateHash: templateHash(template, services.driver.traits.recipe) };
  const wanted = { kind, partner: services.acme, request: aRequest() };
  const row = await reserveNew(deps, wanted);
  expect(await swapForWarm(deps, wanted, row)).toMatchObject({
    claimed: { state: "creating" },
    discarded: { id: row.id, state: "discarding" },
  });
  // There is no second warm sandbox, and a row that has changed is not swapped again.
  expect(await swapForWarm(deps, wanted, row)).toBeNull();
  await services.another({ poolSize: 0 }).reconcile.run({ predecessors: true });
  expect(await statesOf()).toEqual([]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toEqual([]);
});

test("a create that the engine refuses for lack of room evicts another template's blank", async () => {
  services = await openTestSessions({ poolSize: 1, templates: twoTemplates(), wrapDriver: withRoomFor(1).wrap });
  await services.start();
  await filled(1);
  expect(await templatesOf("warm")).toEqual(["other"]);
  expect((await services.sessions.create(services.acme, aRequest())).status).toBe("running");
  await expect.poll(statesOf).toEqual(["running"]);
  await expect(services.sessions.create(services.acme, aRequest())).rejects.toMatchObject({
    code: "capacity_reached",
    retryAfterSeconds: 10,
  });
});

test("a blank that is still being created is evicted too", async () => {
  const ordinary = withRoomFor(1);
  const making = Promise.withResolvers<void>();
  services = await openTestSessions({
    poolSize: 1,
    templates: twoTemplates(),
    // The blank uses the room and never becomes ready.
    wrapDriver: (driver) => {
      const bounded = ordinary.wrap(driver);
      return {
        ...bounded,
        async create(spec, signal) {
          await bounded.create(spec, signal);
          if (spec.template.name !== "other") return;
          making.resolve();
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
        },
      };
    },
  });
  await services.start();
  await making.promise;
  expect((await services.sessions.create(services.acme, aRequest())).status).toBe("running");
  await expect.poll(statesOf).toEqual(["running"]);
});

test("a resume that the engine refuses for lack of room evicts a blank", async () => {
  services = await openTestSessions({ poolSize: 1, templates: twoTemplates(), wrapDriver: withRoomFor(1).wrap });
  const session = await services.sessions.create(services.acme, aRequest());
  await services.start();
  await services.sessions.pause("acme", session.id);
  await services.clock.advance(11 * MINUTE);
  await expect.poll(() => templatesOf("warm")).toEqual(["other"]);
  expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
  await expect.poll(statesOf).toEqual(["running"]);
});

test("if the engine has no room, the pool does not retry at every run", async () => {
  const { wrap, calls } = withRoomFor(1);
  services = await openTestSessions({ poolSize: 1, wrapDriver: wrap });
  await services.start();
  await filled(1);
  await services.sessions.create(services.acme, aRequest());
  // The pool has tried to create a blank, and failed.
  await expect.poll(async () => [calls.length, (await statesOf()).join()]).toEqual([2, "running"]);
  await services.clock.advance(20_000);
  expect(calls).toHaveLength(2);
  await services.clock.advance(MINUTE);
  expect(calls.length).toBeGreaterThan(2);
});
