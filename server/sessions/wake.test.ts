import { afterEach, describe, expect, test } from "vitest";
import { AppError, isAppError } from "@berth/contract";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../clock.ts";
import type { Driver, SandboxSpec } from "../drivers/driver.ts";
import { eventsAfter } from "../store/events.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import { aRequest, openTestSessions } from "./testing/test-sessions.ts";
import { createWakeOnce } from "./calls/wake-once.ts";

type Services = Awaited<ReturnType<typeof openTestSessions>>;
let services: Services;
afterEach(() => services?.[Symbol.asyncDispose]());

let resumes = 0;
const countingResumes = (driver: Driver): Driver => ({
  ...driver,
  resume(spec, signal) {
    resumes++;
    return driver.resume(spec, signal);
  },
});

const create = (changes: Parameters<typeof aRequest>[0] = {}) =>
  services.sessions.create(services.acme, aRequest({ autoResume: true, ...changes }));
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "ok",
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  );

onBothEngines("a session that is opened, or whose time ends", (databases) => {
  const open = async (options: Parameters<typeof openTestSessions>[0] = {}) => {
    resumes = 0;
    services = await openTestSessions({ wrapDriver: countingResumes, ...options, databaseUrl: (await databases.create()).url });
  };
  const statusOf = async ({ id }: { id: string }) => (await services.sessions.get("acme", id)).status;
  const typesOf = async (id: string) =>
    (await eventsAfter(services.store.db, "acme", 0, 100)).filter(({ data }) => data.sessionId === id).map(({ type }) => type);

  test("a hundred who open it through two servers share one resume", async () => {
    await open();
    await using second = services.another();
    const { id } = await create();
    await services.sessions.pause("acme", id);
    const servers = [services.sessions, second.sessions];
    const woken = await Promise.all(Array.from({ length: 100 }, (_, i) => servers[i % 2]!.wake("acme", id)));
    expect(new Set(woken.map(({ status }) => status))).toEqual(new Set(["running"]));
    expect(resumes).toBe(1);
    expect(await typesOf(id)).toEqual(["session.created", "session.paused", "session.resumed"]);
    expect(await services.sessions.wake("acme", id)).toMatchObject({ status: "running", generation: woken[0]!.generation });
  });

  test("without room a hibernated session stays paused, and wakes when there is room", async () => {
    await open({
      capacity: { maxSandboxes: 1, reserveBytes: 0 },
      rules: { timeoutAction: "pause", hibernateAfterMs: 0, pausedMs: DAY, tombstoneMs: DAY, quarantineMs: DAY },
    });
    await services.start();
    const { id } = await create();
    await services.sessions.pause("acme", id);
    await services.clock.advance(SECOND);
    const other = await create();
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(services.sessions.wake("acme", id))));
    expect(new Set(codes)).toEqual(new Set(["capacity_reached"]));
    expect(await services.sessions.get("acme", id)).toMatchObject({ status: "paused", stopReason: "api" });
    await services.sessions.destroy("acme", other.id);
    expect(await services.sessions.wake("acme", id)).toMatchObject({ status: "running", stopReason: null });
  });

  test("the timeout pauses or destroys each session as was agreed for it", async () => {
    await open();
    await services.start();
    const partner = { ...services.acme, onTimeout: "destroy" as const };
    const paused = await create({ timeoutMs: 10 * MINUTE });
    const destroyed = await create({ timeoutMs: 10 * MINUTE, onTimeout: "destroy" });
    const changed = await create({ timeoutMs: 10 * MINUTE, onTimeout: "destroy" });
    const byPartner = await services.sessions.create(partner, aRequest({ timeoutMs: 10 * MINUTE }));
    expect([paused, byPartner].map(({ onTimeout }) => onTimeout)).toEqual(["pause", "destroy"]);
    await services.sessions.update("acme", changed.id, { onTimeout: "pause" });
    services.clock.skip(10 * MINUTE);
    await services.clock.advance(SECOND);
    expect(await Promise.all([paused, destroyed, changed, byPartner].map(statusOf))).toEqual([
      "paused",
      "destroyed",
      "paused",
      "destroyed",
    ]);
    expect(await services.sessions.get("acme", destroyed.id)).toMatchObject({ stopReason: "timeout" });
  });

  test("a person extends a session by its timeout, again and again, up to the limit", async () => {
    await open();
    await services.start();
    const { sessions, clock } = services;
    const partner = { ...services.acme, maxTimeoutMs: 150 * MINUTE };
    const { id, expiresAt, extendUntil } = await sessions.create(partner, aRequest());
    const startMs = expiresAt! - HOUR;
    expect(extendUntil).toBe(startMs + 150 * MINUTE);
    clock.skip(56 * MINUTE);
    await clock.advance(SECOND);
    expect((await eventsAfter(services.store.db, "acme", 0, 100)).map(({ type }) => type)).toContain("session.timeout_warning");
    expect(await sessions.extend("acme", id)).toMatchObject({ expiresAt: startMs + 2 * HOUR, status: "running" });
    const last = await sessions.extend("acme", id);
    expect(last.expiresAt).toBe(startMs + 150 * MINUTE);
    expect(await sessions.extend("acme", id)).toEqual(last);
    await sessions.pause("acme", id);
    expect(await codeOf(sessions.extend("acme", id))).toBe("session_paused");
    const resumed = await sessions.resume("acme", id, { autoStartAgent: false });
    expect(resumed.extendUntil).toBe(clock.now() + 150 * MINUTE);
    const unlimited = await create();
    expect(await sessions.extend("acme", unlimited.id)).toEqual(unlimited);
  });
});

describe("opening a paused session", () => {
  test("only a session with autoResume wakes, never another partner's, and never one that is destroyed", async () => {
    services = await openTestSessions();
    const { id } = await create({ autoResume: false });
    await services.sessions.pause("acme", id);
    expect(await codeOf(services.sessions.wake("acme", id))).toBe("session_paused");
    await services.sessions.update("acme", id, { autoResume: true });
    expect(await codeOf(services.sessions.wake("other", id))).toBe("session_not_found");
    const [woken, destroyed] = await Promise.all([codeOf(services.sessions.wake("acme", id)), services.sessions.destroy("acme", id)]);
    expect(["ok", "session_not_found"]).toContain(woken);
    expect(destroyed.status).toBe("destroyed");
    expect(await codeOf(services.sessions.wake("acme", id))).toBe("session_not_found");
    expect(await services.sessions.get("acme", id)).toMatchObject({ status: "destroyed" });
  });

  test("the sandbox of a session has the resources and the egress of the session, also after a resume, and never comes from the pool", async () => {
    const seen: [string, unknown, unknown][] = [];
    const note = (call: string, { template }: SandboxSpec) => void seen.push([call, template.memoryMb, template.egress]);
    const opened: unknown[] = [];
    services = await openTestSessions({
      poolSize: 1,
      templates: new Map([["default", { ...DEFAULT_TEMPLATE, maxResources: { memoryMb: 4096 } }]]),
      egress: { open: async (_id, { egress }) => void opened.push(egress), change: async () => {}, close: async () => {} },
      wrapDriver: (driver) => ({
        ...driver,
        create: (spec, signal) => (note("create", spec), driver.create(spec, signal)),
        resume: (spec, signal) => (note("resume", spec), driver.resume(spec, signal)),
      }),
    });
    await services.pool.fill();
    seen.length = opened.length = 0;
    const egress = { policy: "none" } as const;
    const { id } = await create({ resources: { memoryMb: 4096 }, egress });
    await services.sessions.pause("acme", id);
    await services.sessions.wake("acme", id);
    expect(seen).toEqual([
      ["create", 4096, egress],
      ["resume", 4096, egress],
    ]);
    expect(opened).toEqual([egress, egress]);
    expect(await services.sessions.get("acme", id)).toMatchObject({ resources: { memoryMb: 4096 }, egress });
    // Limits that equal the template's use its pool.
    await create({ resources: { memoryMb: DEFAULT_TEMPLATE.memoryMb } });
    expect(seen).toHaveLength(2);
  });

  test("after a resume that failed, the session can be opened again at once", async () => {
    let fails = true;
    services = await openTestSessions({
      wrapDriver: (driver) => ({
        ...driver,
        resume: async (spec, signal) => (fails ? Promise.reject(new AppError("sandbox_failed")) : driver.resume(spec, signal)),
      }),
    });
    const { id } = await create();
    await services.sessions.pause("acme", id);
    expect(await codeOf(services.sessions.wake("acme", id))).toBe("sandbox_failed");
    fails = false;
    expect(await codeOf(services.sessions.wake("acme", id))).toBe("ok");
  });

  test("a session that is older than this choice gets the action of the server", async () => {
    services = await openTestSessions({
      rules: { timeoutAction: "destroy", hibernateAfterMs: DAY, pausedMs: DAY, tombstoneMs: DAY, quarantineMs: DAY },
    });
    const { id } = await create();
    await services.store.db.updateTable("sessions").set({ on_timeout: null }).where("id", "=", id).execute();
    await using restarted = services.another();
    await restarted.start();
    expect(await restarted.sessions.get("acme", id)).toMatchObject({ onTimeout: "destroy" });
  });
});

test("a caller waits only for a while, and the attempt goes on", async () => {
  const { promise, resolve } = Promise.withResolvers<never>();
  const wake = createWakeOnce({ wake: () => promise, waitMs: 10 });
  expect(await codeOf(wake("acme", "ses_1"))).toBe("session_resuming");
  const second = wake("acme", "ses_1");
  resolve({ status: "running" } as never);
  expect(await second).toMatchObject({ status: "running" });
});
