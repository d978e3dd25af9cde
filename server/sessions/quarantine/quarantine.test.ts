import { afterEach, expect, test } from "vitest";
import { DAY, MINUTE } from "../../clock.ts";
import { addQuarantined, listQuarantined } from "../../store/quarantine.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";
import { recoverSession } from "./recover.ts";

const TWO_DAYS = { timeoutAction: "pause", hibernateAfterMs: DAY, pausedMs: 30 * DAY, tombstoneMs: DAY, quarantineMs: 2 * DAY } as const;

let services: TestSessions | undefined;
afterEach(async () => {
  await services?.[Symbol.asyncDispose]();
  services = undefined;
});

test("a sandbox without a row is stopped and kept, and its egress is closed; it is deleted when its time is over, not before", async () => {
  const closed: string[] = [];
  services = await openTestSessions({
    rules: TWO_DAYS,
    egress: { open: async () => {}, change: async () => {}, close: async (id) => void closed.push(id) },
  });
  const { store, driver, reconcile, clock } = services;
  const session = await services.sessions.create(services.acme, aRequest());
  const { sandboxId } = session;
  await services.links
    .request(sandboxId, { method: "PUT", path: "/files/content?path=kept.txt", body: "kept" })
    .then((response) => response.body.resume());
  await store.db.deleteFrom("sessions").execute();
  const condition = () => driver.inspect(sandboxId, AbortSignal.timeout(30_000));

  expect(await reconcile.compare()).toEqual([{ sandboxId, sessionId: null, kind: "unknown" }]);
  expect((await reconcile.run()).orphans).toBe(1);
  expect(await condition()).toBe("stopped");
  expect(closed).toEqual([sandboxId]);
  const foundAtMs = clock.now();
  expect(await listQuarantined(store.db)).toEqual([
    {
      kind: "sandbox",
      id: sandboxId,
      site: { driver: "process", host: "test" },
      session: null,
      foundAtMs,
      deleteAtMs: foundAtMs + 2 * DAY,
    },
  ]);
  expect(await reconcile.run()).toEqual({ steps: 0, orphans: 0, differences: 0 });

  await services.start();
  await clock.leap(2 * DAY - MINUTE);
  expect(await condition()).toBe("stopped");
  await clock.leap(2 * MINUTE);
  await expect.poll(condition).toBe("absent");
  expect(await listQuarantined(store.db)).toEqual([]);
});

test("a recovered sandbox is not deleted when its time in quarantine is over", async () => {
  services = await openTestSessions({ rules: TWO_DAYS });
  const { store, driver, reconcile, clock, deps } = services;
  const { sandboxId } = await services.sessions.create(services.acme, aRequest());
  await store.db.deleteFrom("sessions").execute();
  await reconcile.run();
  await expect(store.transaction((tx) => recoverSession(tx, deps, sandboxId, {}))).rejects.toThrow("Name its partner and user");
  const named = { partnerId: "acme", externalUserId: "user-1" };
  const { session } = await store.transaction((tx) => recoverSession(tx, deps, sandboxId, named));
  expect(session).toMatchObject({ state: "paused", isHibernated: true, sandboxId, ...named });

  await services.start();
  await clock.leap(3 * DAY);
  expect(await driver.inspect(sandboxId, AbortSignal.timeout(30_000))).toBe("stopped");
  expect((await services.sessions.get("acme", session.id)).status).toBe("paused");
  services.links.forget(sandboxId);
  expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
});

test("a sandbox in quarantine that runs again cannot be recovered before it is stopped and its egress is closed", async () => {
  const closing = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let isHeld = false;
  const close = async () => {
    if (!isHeld) return;
    closing.resolve();
    await closed.promise;
  };
  services = await openTestSessions({ rules: TWO_DAYS, egress: { open: async () => {}, change: async () => {}, close } });
  const { store, driver, reconcile, deps } = services;
  const session = await services.sessions.create(services.acme, aRequest());
  const { sandboxId } = session;
  const rows = await store.db.selectFrom("sessions").selectAll().execute();
  await store.db.deleteFrom("sessions").execute();
  await reconcile.run();
  // With another store, its session runs again.
  const [quarantined] = await listQuarantined(store.db);
  await store.db.deleteFrom("quarantine").execute();
  await store.db.insertInto("sessions").values(rows).execute();
  await reconcile.run();
  expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
  await store.db.deleteFrom("sessions").execute();
  await addQuarantined(store.db, quarantined!);

  isHeld = true;
  const running = reconcile.run();
  await closing.promise;
  const named = { partnerId: "acme", externalUserId: "user-1" };
  const recover = () => store.transaction((tx) => recoverSession(tx, deps, sandboxId, named));
  await expect(recover()).rejects.toThrow("is not in quarantine");
  closed.resolve();
  await running;
  expect(await driver.inspect(sandboxId, AbortSignal.timeout(30_000))).toBe("stopped");
  expect((await recover()).session).toMatchObject({ state: "paused", sandboxId });
});
