import { afterEach, expect, test } from "vitest";
import { DAY, MINUTE, SECOND } from "../clock.ts";
import { eventsAfter } from "../store/events.ts";
import { aRequest, openTestHeart } from "./testing.ts";

let heart: Awaited<ReturnType<typeof openTestHeart>> | undefined;
afterEach(async () => {
  await heart?.[Symbol.asyncDispose]();
  heart = undefined;
});

const condition = (id: `sbx_${string}`) => heart!.driver.inspect(id, AbortSignal.timeout(30_000));

test("a session is warned, paused at its timeout, hibernated, destroyed and forgotten as time goes by", async () => {
  heart = await openTestHeart();
  await heart.begin();
  const session = await heart.sessions.create(heart.acme, aRequest({ timeoutMs: 60 * MINUTE }));
  const get = () => heart!.sessions.get("acme", session.id);
  const lastEvent = async () => (await eventsAfter(heart!.store.db, "acme", 0, 100)).at(-1)!;

  await heart.clock.advance(55 * MINUTE + 2 * SECOND);
  expect(await lastEvent()).toMatchObject({ type: "session.timeout_warning" });
  expect((await get()).status).toBe("running");

  await heart.clock.advance(5 * MINUTE);
  expect(await get()).toMatchObject({ status: "paused", stopReason: "timeout", expiresAt: null });
  expect(await condition(session.sandboxId)).toBe("frozen");
  expect(await lastEvent()).toMatchObject({ type: "session.paused", data: { reason: "timeout" } });

  await heart.clock.advance(10 * MINUTE);
  expect(await condition(session.sandboxId)).toBe("stopped");
  expect((await get()).status).toBe("paused");

  await heart.deps.store.db
    .updateTable("sessions")
    .set({ paused_at: heart.clock.now() - 30 * DAY })
    .execute();
  await heart.clock.advance(2 * SECOND);
  expect(await get()).toMatchObject({ status: "destroyed", stopReason: "retention" });
  expect(await condition(session.sandboxId)).toBe("absent");

  await heart.deps.store.db
    .updateTable("sessions")
    .set({ destroyed_at: heart.clock.now() - 30 * DAY })
    .execute();
  await heart.clock.advance(2 * SECOND);
  await expect(get()).rejects.toMatchObject({ code: "session_not_found" });
});

test("the time counts from the last resume", async () => {
  heart = await openTestHeart();
  await heart.begin();
  const session = await heart.sessions.create(heart.acme, aRequest({ timeoutMs: 2 * MINUTE }));
  await heart.clock.advance(MINUTE);
  await heart.sessions.pause("acme", session.id);
  await heart.sessions.resume("acme", session.id, { autoStartAgent: false });
  await heart.clock.advance(MINUTE + 30 * SECOND);
  expect((await heart.sessions.get("acme", session.id)).status).toBe("running");
  await heart.clock.advance(MINUTE);
  expect((await heart.sessions.get("acme", session.id)).status).toBe("paused");
});

test("whoever wants timed-out sessions gone gets that", async () => {
  heart = await openTestHeart({ rules: { timeoutAction: "destroy", hibernateAfterMs: MINUTE, pausedMs: DAY, tombstoneMs: DAY } });
  await heart.begin();
  const session = await heart.sessions.create(heart.acme, aRequest({ timeoutMs: MINUTE }));
  await heart.clock.advance(MINUTE + 2 * SECOND);
  expect(await heart.sessions.get("acme", session.id)).toMatchObject({ status: "destroyed", stopReason: "timeout" });
});

test("short of memory, paused sandboxes give theirs back at once, and creates and their resumes are refused", async () => {
  let available = 8e9;
  heart = await openTestHeart({ capacity: { maxSandboxes: 10, reserveBytes: 1e9, availableBytes: () => available } });
  await heart.begin();
  const session = await heart.sessions.create(heart.acme, aRequest());
  await heart.sessions.pause("acme", session.id);
  await heart.clock.advance(2 * SECOND);
  expect(await condition(session.sandboxId)).toBe("frozen");
  available = 5e8;
  await heart.clock.advance(2 * SECOND);
  expect(await condition(session.sandboxId)).toBe("stopped");
  await expect(heart.sessions.create(heart.acme, aRequest())).rejects.toMatchObject({ code: "capacity_reached", retryAfterSeconds: 10 });
  expect(await heart.store.db.selectFrom("sessions").select("id").execute()).toHaveLength(1);
  const resume = () => heart!.sessions.resume("acme", session.id, { autoStartAgent: false });
  await expect(resume()).rejects.toMatchObject({ code: "capacity_reached" });
  expect((await heart.sessions.get("acme", session.id)).status).toBe("paused");
  available = 8e9;
  expect((await resume()).status).toBe("running");
});
