import { afterEach, expect, test } from "vitest";
import { AppError, newId } from "@berth/contract";
import type { Driver } from "../drivers/driver.ts";
import { eventsAfter } from "../store/events.ts";
import { findSession } from "../store/sessions/sessions.ts";
import { aRequest, openTestHeart } from "./testing.ts";

let heart: Awaited<ReturnType<typeof openTestHeart>> | undefined;
let release = () => {};
afterEach(async () => {
  release();
  release = () => {};
  await heart?.[Symbol.asyncDispose]();
  heart = undefined;
});

// A driver whose next call of one method does not come back while the test runs, as if the server had died in it.
function hanging(method: "create" | "pause" | "resume" | "destroy" | "hibernate") {
  let armed = false;
  return {
    arm: () => (armed = true),
    wrap: (driver: Driver): Driver => ({
      ...driver,
      [method]: (...args: never[]) => {
        if (!armed) return (driver[method] as (...args: never[]) => Promise<unknown>)(...args);
        armed = false;
        const { promise, reject } = Promise.withResolvers<never>();
        const others = release;
        release = () => {
          others();
          reject(new Error("the test is over"));
        };
        return promise;
      },
    }),
  };
}

async function stuckIn(step: "pausing" | "resuming" | "destroying") {
  const method = ({ pausing: "pause", resuming: "resume", destroying: "destroy" } as const)[step];
  const hang = hanging(method);
  heart = await openTestHeart({ wrapDriver: hang.wrap });
  const session = await heart.sessions.create(heart.acme, aRequest());
  if (step === "resuming") await heart.sessions.pause("acme", session.id);
  hang.arm();
  void (
    method === "resume" ? heart.sessions.resume("acme", session.id, { autoStartAgent: false }) : heart.sessions[method]("acme", session.id)
  ).catch(() => {});
  await expect.poll(async () => (await findSession(heart!.store.db, session.id))!.state).toBe(step);
  return session;
}

for (const [step, ends] of [
  ["pausing", "paused"],
  ["resuming", "running"],
  ["destroying", "destroyed"],
] as const)
  test(`a server that died while ${step} leaves a lease, and its successor finishes: ${ends}`, async () => {
    const session = await stuckIn(step);
    const successor = heart!.another();
    expect((await successor.reconcile.run({ predecessors: true })).steps).toBe(1);
    expect((await successor.sessions.get("acme", session.id)).status).toBe(ends);
  });

test("another machine's server leaves the step alone until the lease has run out", async () => {
  const session = await stuckIn("pausing");
  const other = heart!.another();
  expect((await other.reconcile.run()).steps).toBe(0);
  await heart!.clock.advance(60_000);
  expect((await other.reconcile.run()).steps).toBe(1);
  expect((await other.sessions.get("acme", session.id)).status).toBe("paused");
});

test("a half-made create is undone: no row, no sandbox", async () => {
  const hang = hanging("create");
  heart = await openTestHeart({ wrapDriver: hang.wrap });
  hang.arm();
  void heart.sessions.create(heart.acme, aRequest()).catch(() => {});
  await expect.poll(async () => (await heart!.store.db.selectFrom("sessions").select("state").execute()).length).toBe(1);
  await heart.another().reconcile.run({ predecessors: true });
  expect(await heart.store.db.selectFrom("sessions").selectAll().execute()).toEqual([]);
  expect(await heart.driver.list(AbortSignal.timeout(30_000))).toEqual([]);
});

test("a sandbox that no row owns is destroyed, and its way out is closed", async () => {
  const closed: string[] = [];
  heart = await openTestHeart({ egress: { open: async () => {}, close: async (sandboxId) => void closed.push(sandboxId) } });
  const id = newId("sbx", Date.now());
  await heart.driver.create({ id, template: heart.deps.templates.get("default")!, tokenHash: "0".repeat(64) }, AbortSignal.timeout(30_000));
  expect(await heart.reconcile.compare()).toEqual([{ sandboxId: id, sessionId: null, kind: "orphan" }]);
  expect((await heart.reconcile.run()).orphans).toBe(1);
  expect(await heart.driver.inspect(id, AbortSignal.timeout(30_000))).toBe("absent");
  expect(closed).toEqual([id]);
});

test("a step that hangs keeps no orphan alive", async () => {
  const session = await stuckIn("resuming");
  const id = newId("sbx", Date.now());
  await heart!.driver.create(
    { id, template: heart!.deps.templates.get("default")!, tokenHash: "0".repeat(64) },
    AbortSignal.timeout(30_000),
  );
  const hang = hanging("resume");
  hang.arm();
  const successor = heart!.another({ driver: hang.wrap(heart!.driver), stepTimeoutMs: 60_000 });
  const run = successor.reconcile.run({ predecessors: true });
  await expect.poll(() => heart!.driver.inspect(id, AbortSignal.timeout(30_000))).toBe("absent");
  expect((await findSession(heart!.store.db, session.id))!.state).toBe("resuming");
  release();
  expect((await run).orphans).toBe(1);
});

test("a running session whose sandbox has died is paused, says why, and resumes over its files", async () => {
  heart = await openTestHeart();
  const session = await heart.sessions.create(heart.acme, aRequest());
  await heart.links
    .request(session.sandboxId, { method: "PUT", path: "/files/content?path=kept.txt", body: "kept" })
    .then((answer) => answer.body.resume());
  await heart.driver.hibernate(session.sandboxId, AbortSignal.timeout(30_000));
  await heart.reconcile.run();
  expect(await heart.sessions.get("acme", session.id)).toMatchObject({ status: "paused", stopReason: "sandbox_lost" });
  const types = (await eventsAfter(heart.store.db, "acme", 0, 100)).map((event) => event.type);
  expect(types.slice(-2)).toEqual(["session.failed", "session.paused"]);
  heart.links.forget(session.sandboxId);
  await heart.sessions.resume("acme", session.id, { autoStartAgent: false });
  const answer = await heart.links.request(session.sandboxId, { method: "GET", path: "/files/content?path=kept.txt" });
  expect(await answer.body.reduce((text: string, chunk) => text + String(chunk), "")).toBe("kept");
});

test("a failed resume leaves the session paused and deletes nothing", async () => {
  heart = await openTestHeart({
    wrapDriver: (driver) => ({ ...driver, resume: () => Promise.reject(new AppError("sandbox_failed")) }),
  });
  const session = await heart.sessions.create(heart.acme, aRequest());
  await heart.sessions.pause("acme", session.id);
  await expect(heart.sessions.resume("acme", session.id, { autoStartAgent: false })).rejects.toMatchObject({ code: "sandbox_failed" });
  expect((await heart.sessions.get("acme", session.id)).status).toBe("paused");
  expect(await heart.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000))).toBe("frozen");
});

test("an engine that hangs gives 504, and a failed create leaves nothing behind", async () => {
  heart = await openTestHeart({
    // Enough for what undoes the create, on a busy machine too.
    stepTimeoutMs: 1500,
    wrapDriver: (driver) => ({
      ...driver,
      create: (_spec, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    }),
  });

  await expect(heart.sessions.create(heart.acme, aRequest())).rejects.toMatchObject({ code: "sandbox_timeout" });
  expect(await heart.store.db.selectFrom("sessions").selectAll().execute()).toEqual([]);
});

test("with nothing wrong there is no difference between store and engine", async () => {
  heart = await openTestHeart();
  const session = await heart.sessions.create(heart.acme, aRequest());
  expect(await heart.reconcile.compare()).toEqual([]);
  await heart.sessions.pause("acme", session.id);
  expect(await heart.reconcile.compare()).toEqual([]);
  expect(await heart.reconcile.run()).toEqual({ steps: 0, orphans: 0, differences: 0 });
});
