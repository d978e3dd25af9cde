import { expect, test } from "vitest";
import type { UsageGroup } from "@berth/contract";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { DAY, SECOND } from "../clock.ts";
import { eventsAfter } from "../store/events.ts";
import { dayOf } from "../store/usage/days.ts";
import { readUsage } from "../store/usage/report.ts";
import { aRequest, openTestSessions } from "./testing/test-sessions.ts";

const RULES = { timeoutAction: "pause", hibernateAfterMs: 2 * SECOND, pausedMs: DAY, tombstoneMs: DAY, quarantineMs: DAY } as const;

onBothEngines("usage", (databases) => {
  async function open() {
    const services = await openTestSessions({ databaseUrl: (await databases.create()).url, rules: RULES });
    await services.start();
    const { store, clock } = services;
    const usage = (groups: UsageGroup[] = [], toDay = dayOf(clock.now()) + DAY) =>
      readUsage(store.db, { partnerId: "acme", fromDay: toDay - 3 * DAY, toDay, groups, nowMs: clock.now(), maxRows: 100 });
    return { ...services, usage };
  }

  test("time counts as running, paused or hibernated, and adds up to the time between the events", async () => {
    await using services = await open();
    const { sessions, clock, acme, store, usage } = services;
    const session = await sessions.create(acme, aRequest({ timeoutMs: 6 * SECOND }));
    await clock.advance(3 * SECOND);
    await sessions.pause("acme", session.id);
    await clock.advance(1 * SECOND);
    await sessions.resume("acme", session.id, { autoStartAgent: false });
    // The timeout pauses it, and then it is hibernated.
    await clock.advance(12 * SECOND);
    const [live] = await usage();
    expect(live!.ms.running).toBe(9 * SECOND);
    expect(live!.ms.hibernated).toBeGreaterThan(0);
    await clock.advance(1 * SECOND);
    await sessions.destroy("acme", session.id);
    const [ended] = await usage();
    await clock.advance(1 * SECOND);
    expect(await usage()).toEqual([ended]);
    const events = (await eventsAfter(store.db, "acme", 0, 100)).filter(({ type }) => type !== "session.timeout_warning");
    expect(events.map(({ type }) => type.replace("session.", ""))).toEqual(["created", "paused", "resumed", "paused", "destroyed"]);
    const [created, paused, resumed, timedOut, destroyed] = events.map(({ at }) => at) as [number, number, number, number, number];
    expect(ended!.ms.running).toBe(paused - created + (timedOut - resumed));
    expect(ended!.ms.paused + ended!.ms.hibernated).toBe(resumed - paused + (destroyed - timedOut));
  });

  test("is added up by user, template, session and day", async () => {
    await using services = await open();
    const { sessions, clock, acme, usage } = services;
    for (const externalUserId of ["ada", "bob"]) await sessions.create(acme, aRequest({ externalUserId, timeoutMs: DAY }));
    await clock.advance(10 * SECOND);
    expect(await usage(["user"])).toMatchObject([
      { externalUserId: "ada", ms: { running: 10 * SECOND } },
      { externalUserId: "bob", ms: { running: 10 * SECOND } },
    ]);
    expect(await usage(["template"])).toMatchObject([{ template: "default", ms: { running: 20 * SECOND } }]);
    expect(await usage(["session"])).toHaveLength(2);
    const days = await usage(["day", "user"]);
    expect(days.map(({ externalUserId }) => externalUserId)).toContain("ada");
    expect(days.every(({ day }) => day !== undefined)).toBe(true);
    const today = dayOf(clock.now());
    expect(await usage(["user"], today - DAY)).toEqual([]);
    expect(await usage([], today - DAY)).toMatchObject([{ ms: { running: 0, paused: 0, hibernated: 0 } }]);
  });

  test("sandboxes of the pool cost nothing", async () => {
    await using services = await openTestSessions({ databaseUrl: (await databases.create()).url, poolSize: 1 });
    await services.start();
    await services.pool.fill();
    expect(await services.store.db.selectFrom("sessions").select(["state", "counted_from"]).execute()).toEqual([
      { state: "warm", counted_from: null },
    ]);
  });
});
