import { afterEach, expect, test } from "vitest";
import type { Template } from "@berth/contract";
import { MINUTE } from "../clock.ts";
import type { Driver } from "../drivers/driver.ts";
import { loadTemplates } from "../templates.ts";
import { aRequest, openTestHeart } from "./testing.ts";

let heart: Awaited<ReturnType<typeof openTestHeart>> | undefined;
afterEach(async () => {
  await heart?.[Symbol.asyncDispose]();
  heart = undefined;
});

const statesOf = async () => (await heart!.store.db.selectFrom("sessions").select("state").execute()).map((row) => row.state).sort();
const filled = (size: number) => expect.poll(statesOf).toEqual(Array.from({ length: size }, () => "warm"));

test("a create takes a warm sandbox without asking the engine, and the pool fills up again", async () => {
  let creates = 0;
  heart = await openTestHeart({
    poolSize: 2,
    wrapDriver: (driver): Driver => ({ ...driver, create: (...args) => (creates++, driver.create(...args)) }),
  });
  await heart.begin();
  await filled(2);
  const session = await heart.sessions.create(heart.acme, aRequest({ envVars: { A: "1" } }));
  expect(session).toMatchObject({ status: "running", externalUserId: "user-1", timeoutMs: 60 * MINUTE });
  await expect.poll(statesOf).toEqual(["running", "warm", "warm"]);
  expect(creates).toBe(3);
});

test("a warm sandbox that died unnoticed costs time, not the session", async () => {
  heart = await openTestHeart({ poolSize: 1 });
  await heart.begin();
  await filled(1);
  const [warm] = await heart.driver.list(AbortSignal.timeout(30_000));
  await heart.driver.destroy(warm!.id, AbortSignal.timeout(30_000));
  const session = await heart.sessions.create(heart.acme, aRequest());
  expect(session.status).toBe("running");
  expect(session.sandboxId).not.toBe(warm!.id);
});

test("a crash loop never makes more than the bound", async () => {
  heart = await openTestHeart({ poolSize: 2 });
  await heart.begin();
  await filled(2);
  for (let crash = 0; crash < 3; crash++) {
    const successor = heart.another();
    await successor.begin();
    await successor[Symbol.asyncDispose]();
  }
  expect(await statesOf()).toEqual(["warm", "warm"]);
  expect(await heart.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
});

test("a changed template empties the pool of the old kind and fills it with the new", async () => {
  heart = await openTestHeart({ poolSize: 1 });
  await heart.begin();
  await filled(1);
  const [old] = await heart.driver.list(AbortSignal.timeout(30_000));
  const changed: Template = { ...heart.deps.templates.get("default")!, memoryMb: 512 };
  const successor = heart.another({ templates: new Map([["default", changed]]) });
  await successor.begin();
  await expect.poll(async () => (await heart!.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id)).toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("so does another image of the driver's", async () => {
  heart = await openTestHeart({ poolSize: 1 });
  await heart.begin();
  await filled(1);
  const [old] = await heart.driver.list(AbortSignal.timeout(30_000));
  const driver = { ...heart.driver, traits: { ...heart.driver.traits, recipe: "berth-sandbox:0.2.0" } };
  const successor = heart.another({ driver });
  await successor.begin();
  await expect.poll(async () => (await heart!.driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id === old!.id)).toEqual([false]);
  await successor[Symbol.asyncDispose]();
});

test("a create takes the place of another template's blank, and is refused only by sessions", async () => {
  const ordinary = loadTemplates(undefined).get("default")!;
  heart = await openTestHeart({
    poolSize: 1,
    templates: new Map(["default", "other"].map((name) => [name, { ...ordinary, name }])),
    capacity: { maxSandboxes: 2, reserveBytes: 0 },
  });
  await heart.begin();
  await filled(2);
  const create = () => heart!.sessions.create(heart!.acme, aRequest());
  await create();
  await create();
  await expect.poll(statesOf).toEqual(["running", "running"]);
  expect(await heart.driver.list(AbortSignal.timeout(30_000))).toHaveLength(2);
  await expect(create()).rejects.toMatchObject({ code: "capacity_reached" });
});

test("a hibernated session that comes back takes a place of the pool's, and none of another session's", async () => {
  heart = await openTestHeart({ poolSize: 1, capacity: { maxSandboxes: 2, reserveBytes: 0 } });
  await heart.begin();
  await filled(1);
  const become = (states: string[]) => expect.poll(statesOf).toEqual(states);
  const create = () => heart!.sessions.create(heart!.acme, aRequest());
  const resume = (id: string) => heart!.sessions.resume("acme", id, { autoStartAgent: false });
  const sleep = async (id: string) => {
    await heart!.sessions.pause("acme", id);
    await heart!.clock.advance(11 * MINUTE);
  };

  const first = await create();
  await become(["running", "warm"]);
  await sleep(first.id);
  const second = await create();
  await become(["paused", "running", "warm"]);
  await resume(first.id);
  await become(["running", "running"]);

  await sleep(second.id);
  await become(["paused", "running", "warm"]);
  await create();
  await become(["paused", "running", "running"]);
  await expect(resume(second.id)).rejects.toMatchObject({ code: "capacity_reached", retryAfterSeconds: 10 });
  expect((await heart.sessions.get("acme", second.id)).status).toBe("paused");
});
