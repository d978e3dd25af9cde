import { expect, test } from "vitest";
import { AppError, type Template } from "@berth/contract";
import { MINUTE } from "../../clock.ts";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import type { Driver } from "../../drivers/driver.ts";
import { loadTemplates } from "../../templates.ts";
import { filled, statesOf, templatesOf } from "../testing/pool-states.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";

test("if the template changes, the pool evicts the old sandboxes and creates new ones", async () => {
  await using services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(services, 1);
  const [old] = await services.driver.list(AbortSignal.timeout(30_000));
  const changed: Template = { ...services.deps.templates.get("default")!, memoryMb: 512 };
  const successor = services.another({ templates: new Map([["default", changed]]) });
  await successor.start();
  await expect.poll(async () => (await services.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id)).toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("if the driver's recipe changes, the pool evicts the old sandboxes and creates new ones", async () => {
  await using services = await openTestSessions({ poolSize: 1 });
  await services.start();
  await filled(services, 1);
  const [old] = await services.driver.list(AbortSignal.timeout(30_000));
  const driver = { ...services.driver, traits: { ...services.driver.traits, recipe: "berth-sandbox:0.2.0" } };
  const successor = services.another({ driver });
  await successor.start();
  await expect.poll(async () => (await services.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id)).toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("a create evicts another template's blank if the limit is reached, but never a session", async () => {
  const ordinary = loadTemplates(undefined).get("default")!;
  await using services = await openTestSessions({
    poolSize: 1,
    templates: new Map(["default", "other"].map((name) => [name, { ...ordinary, name }])),
    capacity: { maxSandboxes: 2, reserveBytes: 0 },
  });
  await services.start();
  await filled(services, 2);
  const create = () => services.sessions.create(services.acme, aRequest());
  await create();
  await create();
  await expect.poll(() => statesOf(services)).toEqual(["running", "running"]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
  await expect(create()).rejects.toMatchObject({ code: "capacity_reached" });
});

test("resuming a hibernated session evicts a blank if the limit is reached, but never a session", async () => {
  await using services = await openTestSessions({ poolSize: 1, capacity: { maxSandboxes: 2, reserveBytes: 0 } });
  await services.start();
  await filled(services, 1);
  const expectStates = (states: string[]) => expect.poll(() => statesOf(services)).toEqual(states);
  const create = () => services.sessions.create(services.acme, aRequest());
  const resume = (id: string) => services.sessions.resume("acme", id, { autoStartAgent: false });
  const hibernate = async (id: string) => {
    await services.sessions.pause("acme", id);
    await services.clock.leap(11 * MINUTE);
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

test("a create that the engine refuses for lack of room evicts another template's blank", async () => {
  await using services = await openTestSessions({ poolSize: 1, templates: twoTemplates(), wrapDriver: withRoomFor(1).wrap });
  await services.start();
  await filled(services, 1);
  expect(await templatesOf(services, "warm")).toEqual(["other"]);
  expect((await services.sessions.create(services.acme, aRequest())).status).toBe("running");
  await expect.poll(() => statesOf(services)).toEqual(["running"]);
  await expect(services.sessions.create(services.acme, aRequest())).rejects.toMatchObject({
    code: "capacity_reached",
    retryAfterSeconds: 10,
  });
});

test("a blank that is still being created is evicted too", async () => {
  const ordinary = withRoomFor(1);
  const making = Promise.withResolvers<void>();
  await using services = await openTestSessions({
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
  await expect.poll(() => statesOf(services)).toEqual(["running"]);
});

test("a resume that the engine refuses for lack of room evicts a blank", async () => {
  await using services = await openTestSessions({ poolSize: 1, templates: twoTemplates(), wrapDriver: withRoomFor(1).wrap });
  const session = await services.sessions.create(services.acme, aRequest());
  await services.start();
  await services.sessions.pause("acme", session.id);
  await services.clock.leap(11 * MINUTE);
  // If the pool tried before the session had hibernated, it tries again after a minute.
  const warmLater = async () => {
    await services.clock.advance(MINUTE);
    return templatesOf(services, "warm");
  };
  await expect.poll(warmLater).toEqual(["other"]);
  expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
  await expect.poll(() => statesOf(services)).toEqual(["running"]);
});

onBothEngines("an engine in which sandboxes wait for room", (databases) => {
  test("creates do not wait for a blank without room, and one of them gets the blank that has it", async () => {
    const tries: string[] = [];
    const [begun, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let room: "given" | "none" = "none";
    const { url } = await databases.create();
    await using services = await openTestSessions({
      databaseUrl: url,
      poolSize: 1,
      wrapDriver: (driver) => ({
        ...driver,
        roomOf: () => room,
        // The first one is the blank.
        async create(spec, signal) {
          if (tries.push(spec.id) > 1) throw new AppError("capacity_reached");
          begun.resolve();
          await started.promise;
          await driver.create(spec, signal);
        },
      }),
    });
    const create = () => services.sessions.create(services.acme, aRequest());
    await services.start();
    await begun.promise;
    await expect(create()).rejects.toMatchObject({ code: "capacity_reached", retryAfterSeconds: 10 });
    expect(tries).toHaveLength(2);

    room = "given";
    let refused = 0;
    const calls = [create(), create(), create()];
    for (const call of calls) call.catch(() => refused++);
    // The blank is promised to one of them. The others need not wait until it is warm.
    await expect.poll(() => refused).toBe(2);
    started.resolve();
    expect((await Promise.allSettled(calls)).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(tries).toHaveLength(5);
  });
});

test("a create whose sandbox has room leaves the warm one to creates that wait for room", async () => {
  const [begun, started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ids: string[] = [];
  let looks = 0;
  await using services = await openTestSessions({
    poolSize: 1,
    wrapDriver: (driver) => ({
      ...driver,
      roomOf(id) {
        if (id === ids[1]) looks++;
        return "given";
      },
      // False at first, or the pool would make no blank.
      isFull: () => ids.length > 1,
      // The first one is the blank.
      async create(spec, signal) {
        const isBlank = ids.push(spec.id) === 1;
        begun.resolve();
        await (isBlank ? started : released).promise;
        await driver.create(spec, signal);
      },
    }),
  });
  const create = () => services.sessions.create(services.acme, aRequest());
  await services.start();
  await begun.promise;
  const first = create();
  await expect.poll(() => ids.length).toBe(2);
  started.resolve();
  await expect.poll(() => statesOf(services)).toContain("warm");
  const before = looks;
  await expect.poll(() => looks, { timeout: 5_000 }).toBeGreaterThan(before + 1);
  expect((await create()).sandboxId).toBe(ids[0]);
  released.resolve();
  expect((await first).sandboxId).toBe(ids[1]);
});

test("the pool creates no blanks while a sandbox waits for room, even one of another server", async () => {
  let isFull = true;
  let tries = 0;
  await using services = await openTestSessions({
    poolSize: 1,
    wrapDriver: (driver) => ({
      ...driver,
      roomOf: () => "given",
      isFull: () => isFull,
      async create(spec, signal) {
        tries++;
        await driver.create(spec, signal);
      },
    }),
  });
  await services.start();
  await services.pool.fill();
  expect(tries).toBe(0);
  isFull = false;
  await services.pool.fill();
  await filled(services, 1);
});

test("if the engine has no room, the pool does not retry at every run", async () => {
  const { wrap, calls } = withRoomFor(1);
  await using services = await openTestSessions({ poolSize: 1, wrapDriver: wrap });
  await services.start();
  await filled(services, 1);
  await services.sessions.create(services.acme, aRequest());
  // The pool has tried to create a blank, and failed.
  await expect.poll(async () => [calls.length, (await statesOf(services)).join()]).toEqual([2, "running"]);
  await services.clock.advance(20_000);
  expect(calls).toHaveLength(2);
  await services.clock.advance(MINUTE);
  expect(calls.length).toBeGreaterThan(2);
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
