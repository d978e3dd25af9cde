import { expect, test } from "vitest";
import { MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { createPartner } from "../../keys/partners.ts";
import { sessionsInState } from "../../store/sessions/read.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

const countIn = async ({ store }: TestSessions, ...states: ("warming" | "warm" | "creating" | "running")[]) =>
  (await store.db.selectFrom("sessions").select("id").where("state", "in", states).execute()).length;
const create = ({ sessions, acme }: TestSessions) => sessions.create(acme, aRequest());

test("a burst makes the pool grow, so that the next one finds warm sandboxes, and later it shrinks", async () => {
  let creates = 0;
  await using services = await openTestSessions({
    poolSize: 1,
    poolMax: 3,
    wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (creates++, driver.create(...args)) }),
  });
  await services.pool.fill();
  expect(await countIn(services, "warm")).toBe(1);
  const burst = () => Promise.all(Array.from({ length: 3 }, () => create(services)));
  await burst();
  await expect.poll(() => countIn(services, "warm")).toBe(3);
  expect(services.pool.targets().get("default")).toBe(3);

  creates = 0;
  await burst();
  expect(await countIn(services, "running")).toBe(6);
  expect(creates).toBe(0);
  await expect.poll(() => countIn(services, "warm")).toBe(3);

  for (let period = 0; period < 3; period++) {
    await services.clock.advance(5 * MINUTE);
    await services.pool.fill();
  }
  expect(await countIn(services, "warming", "warm")).toBe(1);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toHaveLength(7);
});

test("the pool does not grow while a create waits", async () => {
  const waiting = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let isFirst = true;
  await using services = await openTestSessions({
    poolSize: 1,
    poolMax: 3,
    // The create does not take the pool's sandbox, however slow the machine is.
    lookMs: 60_000,
    wrapDriver: (driver): Driver => ({
      ...driver,
      async create(spec, signal) {
        if (isFirst) {
          isFirst = false;
          waiting.resolve();
          await release.promise;
        }
        return driver.create(spec, signal);
      },
    }),
  });
  const creating = create(services);
  await waiting.promise;
  await services.pool.fill();
  expect(services.pool.targets().get("default")).toBe(2);
  expect(await countIn(services, "warming", "warm", "running")).toBe(1);
  release.resolve();
  await creating;
  await expect.poll(() => countIn(services, "warm")).toBe(2);
});

test("with little memory the pool keeps its size and does not grow", async () => {
  let availableBytes = 64 * 2 ** 30;
  await using services = await openTestSessions({
    poolSize: 1,
    poolMax: 3,
    capacity: { maxSandboxes: 100, reserveBytes: 2 ** 29, availableBytes: () => availableBytes },
  });
  await Promise.all([create(services), create(services)]);
  await services.start();
  await expect.poll(() => countIn(services, "warm")).toBe(3);
  availableBytes = 2 ** 30;
  await services.clock.advance(10_000);
  expect(await countIn(services, "warming", "warm")).toBe(1);
});

test("on a machine with far too much to do the pool keeps its size and does not grow", async () => {
  let load = 20;
  await using services = await openTestSessions({ poolSize: 1, poolMax: 3, capacity: { loadPerCore: () => load } });
  await Promise.all([create(services), create(services)]);
  await services.pool.fill();
  expect(services.pool.targets().get("default")).toBe(3);
  expect(await countIn(services, "warming", "warm")).toBe(1);
  load = 1;
  await services.pool.fill();
  expect(await countIn(services, "warm")).toBe(3);
});

test("the pool waits until the processors have time, but not forever", async () => {
  let looks = 0;
  let idleAfter = 4;
  const looksBeforeCreate: number[] = [];
  await using services = await openTestSessions({
    poolSize: 1,
    capacity: { idleProcessors: () => (++looks < idleAfter ? 0 : Infinity) },
    wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (looksBeforeCreate.push(looks), driver.create(...args)) }),
  });
  await services.pool.fill();
  [looks, idleAfter] = [0, Infinity];
  await create(services);
  await services.pool.fill();
  expect(looksBeforeCreate).toEqual([4, 10]);
});

test("a partner that floods the pool leaves a warm sandbox to its neighbour", async () => {
  await using services = await openTestSessions({ poolSize: 2 });
  await createPartner(services.store.db, services.clock, "flood");
  const flood = { ...services.acme, id: "flood" };
  await create(services);
  await services.pool.fill();
  const flooding = Promise.all(Array.from({ length: 6 }, () => services.sessions.create(flood, aRequest())));
  await expect.poll(() => countIn(services, "creating", "running")).toBe(7);
  const warm = await sessionsInState(services.store.db, { driver: "process", host: "test" }, ["warm"]);
  expect(warm).not.toEqual([]);
  const { sandboxId } = await create(services);
  expect(warm.map((blank) => blank.sandboxId)).toContain(sandboxId);
  await flooding;
});

onBothEngines("the pool of several servers", (databases) => {
  test("holds no more than its size, also if all fill it at once", async () => {
    let creates = 0;
    await using services = await openTestSessions({
      databaseUrl: (await databases.create()).url,
      poolSize: 2,
      wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (creates++, driver.create(...args)) }),
    });
    await Promise.all([services, services.another(), services.another()].map(({ pool }) => pool.fill()));
    expect(await countIn(services, "warming", "warm")).toBe(2);
    expect(creates).toBe(2);
  });

  test("keeps what the demand of one of them needs", async () => {
    await using services = await openTestSessions({ databaseUrl: (await databases.create()).url, poolSize: 1, poolMax: 3 });
    await Promise.all([create(services), create(services)]);
    await services.pool.fill();
    expect(await countIn(services, "warm")).toBe(3);
    await services.another().pool.fill();
    expect(await countIn(services, "warm")).toBe(3);
  });
});
