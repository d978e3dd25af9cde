import { afterEach, expect, test } from "vitest";
import { DAY, MINUTE, SECOND } from "../../clock.ts";
import { eventsAfter } from "../../store/events.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

let services: TestSessions | undefined;
afterEach(async () => {
  await services?.[Symbol.asyncDispose]();
  services = undefined;
});

const condition = (id: `sbx_${string}`) => services!.driver.inspect(id, AbortSignal.timeout(30_000));

test("over time, a session gets a warning, times out, hibernates, is destroyed and is purged", async () => {
  services = await openTestSessions();
  await services.start();
  const session = await services.sessions.create(services.acme, aRequest({ timeoutMs: 60 * MINUTE }));
  const get = () => services!.sessions.get("acme", session.id);
  const lastEvent = async () => (await eventsAfter(services!.store.db, "acme", 0, 100)).at(-1)!;

  await services.clock.leap(55 * MINUTE + 2 * SECOND);
  expect(await lastEvent()).toMatchObject({ type: "session.timeout_warning" });
  expect((await get()).status).toBe("running");

  await services.clock.leap(5 * MINUTE);
  expect(await get()).toMatchObject({ status: "paused", stopReason: "timeout", expiresAt: null });
  expect(await condition(session.sandboxId)).toBe("frozen");
  expect(await lastEvent()).toMatchObject({ type: "session.paused", data: { reason: "timeout" } });

  await services.clock.leap(10 * MINUTE);
  expect(await condition(session.sandboxId)).toBe("stopped");
  expect((await get()).status).toBe("paused");

  await services.deps.store.db
    .updateTable("sessions")
    .set({ paused_at: services.clock.now() - 30 * DAY })
    .execute();
  await services.clock.advance(2 * SECOND);
  expect(await get()).toMatchObject({ status: "destroyed", stopReason: "retention" });
  expect(await condition(session.sandboxId)).toBe("absent");

  await services.deps.store.db
    .updateTable("sessions")
    .set({ destroyed_at: services.clock.now() - 30 * DAY })
    .execute();
  await services.clock.leap(MINUTE);
  await expect(get()).rejects.toMatchObject({ code: "session_not_found" });
});

test("the timeout counts from the last resume", async () => {
  services = await openTestSessions();
  await services.start();
  const session = await services.sessions.create(services.acme, aRequest({ timeoutMs: 2 * MINUTE }));
  await services.clock.leap(MINUTE);
  await services.sessions.pause("acme", session.id);
  await services.sessions.resume("acme", session.id, { autoStartAgent: false });
  await services.clock.leap(MINUTE + 30 * SECOND);
  expect((await services.sessions.get("acme", session.id)).status).toBe("running");
  await services.clock.leap(MINUTE);
  expect((await services.sessions.get("acme", session.id)).status).toBe("paused");
});

test("with the timeout action destroy, a session that times out is destroyed", async () => {
  services = await openTestSessions({
    rules: { timeoutAction: "destroy", hibernateAfterMs: MINUTE, pausedMs: DAY, tombstoneMs: DAY, quarantineMs: DAY },
  });
  await services.start();
  const session = await services.sessions.create(services.acme, aRequest({ timeoutMs: MINUTE }));
  await services.clock.leap(MINUTE + 2 * SECOND);
  expect(await services.sessions.get("acme", session.id)).toMatchObject({ status: "destroyed", stopReason: "timeout" });
});

test("if memory is low, paused sandboxes hibernate at once, and creates and their resumes are refused", async () => {
  let available = 8e9;
  services = await openTestSessions({ capacity: { maxSandboxes: 10, reserveBytes: 1e9, availableBytes: () => available } });
  await services.start();
  const session = await services.sessions.create(services.acme, aRequest());
  await services.sessions.pause("acme", session.id);
  await services.clock.advance(2 * SECOND);
  expect(await condition(session.sandboxId)).toBe("frozen");
  available = 5e8;
  await services.clock.advance(2 * SECOND);
  expect(await condition(session.sandboxId)).toBe("stopped");
  await expect(services.sessions.create(services.acme, aRequest())).rejects.toMatchObject({
    code: "capacity_reached",
    retryAfterSeconds: 10,
  });
  expect(await services.store.db.selectFrom("sessions").select("id").execute()).toHaveLength(1);
  const resume = () => services!.sessions.resume("acme", session.id, { autoStartAgent: false });
  await expect(resume()).rejects.toMatchObject({ code: "capacity_reached" });
  expect((await services.sessions.get("acme", session.id)).status).toBe("paused");
  available = 8e9;
  expect((await resume()).status).toBe("running");
});

test("a shorter retention that would destroy many sessions waits for a day, also after a restart", async () => {
  services = await openTestSessions();
  await services.start();
  const { store, clock, deps } = services;
  for (let i = 0; i < 4; i++) await addPaused(services, clock.now() - 10 * DAY);
  await services.stop();
  const rules = { ...deps.rules, pausedMs: 5 * DAY };
  const warnings: object[] = [];
  const log = { ...deps.log, warn: (event: string, fields?: object) => void warnings.push({ event, ...fields }) };
  const left = () => store.db.selectFrom("sessions").select("id").where("state", "=", "paused").execute();

  {
    await using second = services.another({ rules, log });
    await second.start();
    await clock.leap(10 * SECOND);
    expect(await left()).toHaveLength(4);
    expect(warnings).toEqual([expect.objectContaining({ event: "retention.held", setting: "BERTH_PAUSED_DAYS", due: 4 })]);
  }
  {
    await using third = services.another({ rules, log });
    await clock.leap(DAY - MINUTE);
    await third.start();
    await clock.leap(10 * SECOND);
    expect(await left()).toHaveLength(4);
    await clock.leap(2 * MINUTE);
    expect(await left()).toHaveLength(0);
  }
});

test("a retention that destroys a few sessions, or that is as before, does not wait", async () => {
  services = await openTestSessions();
  await services.start();
  const { store, clock, deps } = services;
  for (let i = 0; i < 3; i++) await addPaused(services, clock.now() - 10 * DAY);
  await services.stop();
  await using second = services.another({ rules: { ...deps.rules, pausedMs: 5 * DAY } });
  await second.start();
  await clock.leap(10 * SECOND);
  expect(await store.db.selectFrom("sessions").select("id").where("state", "=", "paused").execute()).toHaveLength(0);
});

const addPaused = ({ store, clock, driver }: TestSessions, pausedAtMs: number) =>
  insertSessionRow(
    store.db,
    sessionRow(clock.now(), { driver: driver.name, host: "test", state: "paused", expires_at: null, hibernated: 1, paused_at: pausedAtMs }),
  );
