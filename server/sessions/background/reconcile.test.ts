import { afterEach, expect, test } from "vitest";
import { AppError, newId } from "@berth/contract";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { HOUR, MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { silentLog } from "../../log.ts";
import { eventsAfter } from "../../store/events.ts";
import { listQuarantined } from "../../store/quarantine.ts";
import { findSession } from "../../store/sessions/read.ts";
import { moveSession } from "../../store/sessions/write.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

let services: TestSessions | undefined;
let release = () => {};
afterEach(async () => {
  release();
  release = () => {};
  await services?.[Symbol.asyncDispose]();
  services = undefined;
});

type Method = "create" | "pause" | "resume" | "destroy" | "hibernate";

// A driver whose next call of one of the methods hangs until the test is over, as if the server had died in it. `arm` resolves with
// that call.
function hanging(...methods: Method[]) {
  let armed: PromiseWithResolvers<void> | null = null;
  return {
    arm: () => (armed = Promise.withResolvers<void>()).promise,
    wrap: (driver: Driver): Driver => {
      const wrapMethod =
        (method: Method) =>
        (...args: never[]) => {
          if (!armed) return (driver[method] as (...args: never[]) => Promise<unknown>)(...args);
          armed.resolve();
          armed = null;
          const { promise, reject } = Promise.withResolvers<never>();
          const others = release;
          release = () => {
            others();
            reject(new Error("the test is over"));
          };
          return promise;
        };
      return { ...driver, ...Object.fromEntries(methods.map((method) => [method, wrapMethod(method)])) };
    },
  };
}

async function stuckIn(step: "pausing" | "resuming" | "destroying") {
  const method = ({ pausing: "pause", resuming: "resume", destroying: "destroy" } as const)[step];
  const hang = hanging(method);
  services = await openTestSessions({ wrapDriver: hang.wrap });
  const session = await services.sessions.create(services.acme, aRequest());
  if (step === "resuming") await services.sessions.pause("acme", session.id);
  const called = hang.arm();
  void (
    method === "resume"
      ? services.sessions.resume("acme", session.id, { autoStartAgent: false })
      : services.sessions[method]("acme", session.id)
  ).catch(() => {});
  await called;
  expect((await findSession(services.store.db, session.id))!.state).toBe(step);
  return session;
}

for (const [step, ends] of [
  ["pausing", "paused"],
  ["resuming", "running"],
  ["destroying", "destroyed"],
] as const)
  test(`if a server dies while ${step}, the next one takes over and the session ends ${ends}`, async () => {
    const session = await stuckIn(step);
    const successor = services!.another();
    expect((await successor.reconcile.run({ predecessors: true })).steps).toBe(1);
    expect((await successor.sessions.get("acme", session.id)).status).toBe(ends);
  });

onBothEngines("the lease of a step", (databases) => {
  test("lasts while its server lives, also if the step takes long, and ends half a minute after it", async () => {
    const hang = hanging("create", "pause");
    services = await openTestSessions({ wrapDriver: hang.wrap, databaseUrl: (await databases.create()).url, stepTimeoutMs: 120_000 });
    const { store, sessions, acme, clock } = services;
    const paused = await sessions.create(acme, aRequest());
    const called = hang.arm();
    void sessions.pause("acme", paused.id).catch(() => {});
    await called;
    const calledAgain = hang.arm();
    void sessions.create(acme, aRequest()).catch(() => {});
    await calledAgain;
    const other = services.another();
    await clock.advance(MINUTE);
    expect((await other.reconcile.run()).steps).toBe(0);
    clock.skip(31_000);
    expect((await other.reconcile.run()).steps).toBe(2);
    expect(await store.db.selectFrom("sessions").select(["id", "state"]).execute()).toEqual([{ id: paused.id, state: "paused" }]);
  });
});

test("a server does not take over its own step because the machine has slept", async () => {
  await stuckIn("pausing");
  services!.clock.skip(HOUR);
  expect((await services!.reconcile.run()).steps).toBe(0);
});

test("an abandoned create is undone: neither a row nor a sandbox remains", async () => {
  const hang = hanging("create");
  services = await openTestSessions({ wrapDriver: hang.wrap });
  void hang.arm();
  void services.sessions.create(services.acme, aRequest()).catch(() => {});
  await expect.poll(async () => (await services!.store.db.selectFrom("sessions").select("state").execute()).length).toBe(1);
  await services.another().reconcile.run({ predecessors: true });
  expect(await services.store.db.selectFrom("sessions").selectAll().execute()).toEqual([]);
  expect(await services.driver.list(AbortSignal.timeout(30_000))).toEqual([]);
});

test("a sandbox whose row says destroyed is destroyed", async () => {
  services = await openTestSessions();
  const { store, driver, reconcile } = services;
  const { id, sandboxId } = await services.sessions.create(services.acme, aRequest());
  await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: 1, token: "" }).execute();
  expect(await reconcile.compare()).toEqual([{ sandboxId, sessionId: id, kind: "orphan" }]);
  await reconcile.run();
  expect(await driver.inspect(sandboxId, AbortSignal.timeout(30_000))).toBe("absent");
  expect(await listQuarantined(store.db)).toEqual([]);
});

test("sandboxes without a row are stopped even while a step hangs", async () => {
  const session = await stuckIn("resuming");
  const id = newId("sbx", Date.now());
  await services!.driver.create(
    { id, template: services!.deps.templates.get("default")!, tokenHash: "0".repeat(64) },
    AbortSignal.timeout(30_000),
  );
  const hang = hanging("resume");
  void hang.arm();
  const successor = services!.another({ driver: hang.wrap(services!.driver), stepTimeoutMs: 60_000 });
  const run = successor.reconcile.run({ predecessors: true });
  await expect.poll(() => services!.driver.inspect(id, AbortSignal.timeout(30_000))).toBe("stopped");
  expect((await findSession(services!.store.db, session.id))!.state).toBe("resuming");
  release();
  expect((await run).orphans).toBe(1);
});

test("a running session whose sandbox died is paused with the reason, and resumes with its files", async () => {
  services = await openTestSessions();
  const session = await services.sessions.create(services.acme, aRequest());
  await services.links
    .request(session.sandboxId, { method: "PUT", path: "/files/content?path=kept.txt", body: "kept" })
    .then((response) => response.body.resume());
  await services.driver.hibernate(session.sandboxId, AbortSignal.timeout(30_000));
  await services.reconcile.run();
  expect(await services.sessions.get("acme", session.id)).toMatchObject({ status: "paused", stopReason: "sandbox_lost" });
  const types = (await eventsAfter(services.store.db, "acme", 0, 100)).map((event) => event.type);
  expect(types.slice(-2)).toEqual(["session.failed", "session.paused"]);
  services.links.forget(session.sandboxId);
  await services.sessions.resume("acme", session.id, { autoStartAgent: false });
  const response = await services.links.request(session.sandboxId, { method: "GET", path: "/files/content?path=kept.txt" });
  expect(await response.body.reduce((text: string, chunk) => text + String(chunk), "")).toBe("kept");
});

// A session whose sandbox was frozen behind the server's back, and the repair that hangs while it thaws the sandbox.
async function stuckInThawing() {
  const hang = hanging("resume");
  const opened = await openTestSessions({ wrapDriver: hang.wrap });
  services = opened;
  const session = await opened.sessions.create(opened.acme, aRequest());
  await opened.driver.pause(session.sandboxId, AbortSignal.timeout(30_000));
  void hang.arm();
  const repairing = opened.reconcile.repairDifferences();
  await expect.poll(async () => (await findSession(opened.store.db, session.id))!.state).toBe("thawing");
  return { services: opened, session, repairing };
}

test("a running session whose sandbox is frozen is thawed under a lease, and partners do not notice", async () => {
  const { services, session, repairing } = await stuckInThawing();
  expect(await findSession(services.store.db, session.id)).toHaveProperty("lease");
  expect((await services.sessions.get("acme", session.id)).status).toBe("running");
  await expect(services.sessions.resume("acme", session.id, { autoStartAgent: false })).rejects.toMatchObject({
    code: "session_already_running",
  });
  release();
  await repairing;
  // The thaw failed, so the session is as before and the next run repairs it.
  await services.reconcile.repairDifferences();
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("running");
  const after = await services.sessions.get("acme", session.id);
  expect(after).toMatchObject({ status: "running", expiresAt: session.expiresAt });
  const types = (await eventsAfter(services.store.db, "acme", 0, 100)).map((event) => event.type);
  expect(types).toEqual(["session.created"]);
});

test("if a server dies while thawing, the next one takes over and the session ends running", async () => {
  const { services, session } = await stuckInThawing();
  const successor = services.another();
  expect((await successor.reconcile.run({ predecessors: true })).steps).toBe(1);
  expect((await findSession(services.store.db, session.id))!.state).toBe("running");
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("running");
});

test("a pause during a thaw waits for it and then pauses", async () => {
  const { services, session, repairing } = await stuckInThawing();
  const pausing = services.sessions.pause("acme", session.id);
  release();
  expect((await pausing).status).toBe("paused");
  await repairing;
});

test("a resume that finds an abandoned hibernation finishes it and then resumes", async () => {
  services = await openTestSessions();
  const session = await services.sessions.create(services.acme, aRequest());
  await services.sessions.pause("acme", session.id);
  const paused = (await findSession(services.store.db, session.id))!;
  await moveSession(services.store.db, paused, "hibernating", { lease: { owner: "a dead server", untilMs: services.clock.now() - 1 } });
  expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("running");
});

test("a frozen sandbox whose session is destroyed meanwhile is not thawed", async () => {
  const { services, session, repairing } = await stuckInThawing();
  const destroying = services.sessions.destroy("acme", session.id);
  release();
  expect((await destroying).status).toBe("destroyed");
  await repairing;
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("absent");
});

test("a failed resume leaves the session paused and deletes nothing", async () => {
  services = await openTestSessions({
    wrapDriver: (driver) => ({ ...driver, resume: () => Promise.reject(new AppError("sandbox_failed")) }),
  });
  const session = await services.sessions.create(services.acme, aRequest());
  await services.sessions.pause("acme", session.id);
  await expect(services.sessions.resume("acme", session.id, { autoStartAgent: false })).rejects.toMatchObject({ code: "sandbox_failed" });
  expect((await services.sessions.get("acme", session.id)).status).toBe("paused");
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("frozen");
});

test("a create that times out in the engine fails with sandbox_timeout and leaves nothing behind", async () => {
  services = await openTestSessions({
    // This is enough to undo the create, even on a busy machine.
    stepTimeoutMs: 1500,
    wrapDriver: (driver) => ({
      ...driver,
      create: (_spec, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    }),
  });

  await expect(services.sessions.create(services.acme, aRequest())).rejects.toMatchObject({ code: "sandbox_timeout" });
  expect(await services.store.db.selectFrom("sessions").selectAll().execute()).toEqual([]);
});

test("if nothing is wrong, store and engine do not differ", async () => {
  services = await openTestSessions();
  const session = await services.sessions.create(services.acme, aRequest());
  expect(await services.reconcile.compare()).toEqual([]);
  await services.sessions.pause("acme", session.id);
  expect(await services.reconcile.compare()).toEqual([]);
  expect(await services.reconcile.run()).toEqual({ steps: 0, orphans: 0, differences: 0 });
});

test("a malformed row is logged once and keeps its sandbox, and all other sessions are still repaired", async () => {
  const errors: [string, unknown][] = [];
  const log = { ...silentLog, error: (event: string, fields?: object) => void errors.push([event, fields]) };
  services = await openTestSessions({ log });
  const { sessions, store, driver, reconcile, acme } = services;
  const [edited, stuck, other] = [
    await sessions.create(acme, aRequest()),
    await sessions.create(acme, aRequest()),
    await sessions.create(acme, aRequest()),
  ];
  await store.db.updateTable("sessions").set({ expires_at: null }).where("id", "=", edited.id).execute();
  const step = { state: "pausing", lease_owner: null, lease_until: 1 } as const;
  await store.db.updateTable("sessions").set(step).where("id", "=", stuck.id).execute();
  await driver.hibernate(other.sandboxId, AbortSignal.timeout(30_000));

  await services.start();
  for (let run = 0; run < 2; run++) await reconcile.run();
  expect((await sessions.get("acme", other.id)).status).toBe("paused");
  for (const { sandboxId } of [edited, stuck]) expect(await driver.inspect(sandboxId, AbortSignal.timeout(30_000))).toBe("running");
  const malformed = ({ id, sandboxId }: typeof edited, problem: string) =>
    ["reconcile.malformed_row", { sessionId: id, sandboxId, problem: `The row of ${id} ${problem}` }] as const;
  expect(errors).toHaveLength(2);
  expect(errors).toContainEqual(malformed(edited, "is running but has no expires_at"));
  expect(errors).toContainEqual(malformed(stuck, "is pausing but has no lease_owner"));
});
