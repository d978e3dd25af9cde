import { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../clock.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { eventsAfter } from "../../store/events.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { SessionServicesDeps } from "../session-services.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";

type Services = Awaited<ReturnType<typeof openTestSessions>>;
let services: Services;
afterEach(() => services?.[Symbol.asyncDispose]());

async function open(options: Parameters<typeof openTestSessions>[0] = {}): Promise<Services> {
  services = await openTestSessions(options);
  await services.start();
  return services;
}

async function create(changes: Parameters<typeof aRequest>[0] = {}) {
  const { id } = await services.sessions.create(services.acme, aRequest({ timeoutMs: DAY, idleTimeoutMs: 2 * MINUTE, ...changes }));
  return id;
}

// Ticks every ten seconds, and at the end.
async function pass(ms: number): Promise<void> {
  for (let restMs = ms; restMs > 0; restMs -= 10 * SECOND) {
    services.clock.skip(Math.min(restMs, 10 * SECOND));
    await services.clock.advance(0);
  }
}

const get = (id: string) => services.sessions.get("acme", id);
const statusOf = async (id: string) => (await get(id)).status;

// Replaces the daemon's answer about when its agent last worked.
const answering =
  (answer: () => string): ((links: DaemonLinks) => DaemonLinks) =>
  (links) => ({
    ...links,
    request: async () => ({ status: 200, headers: {}, body: Readable.from([Buffer.from(answer())]), trailers: {} }),
  });

onBothEngines("idle sessions", (databases) => {
  const openHere = async (options: Partial<SessionServicesDeps> = {}) => open({ ...options, databaseUrl: (await databases.create()).url });

  test("a session is paused exactly when it was not used for its idle timeout", async () => {
    const { activity, store } = await openHere();
    const id = await create();
    await pass(119 * SECOND);
    activity.note(await get(id));
    await pass(2 * MINUTE - 1);
    expect(await statusOf(id)).toBe("running");
    await pass(SECOND);
    expect(await get(id)).toMatchObject({ status: "paused", stopReason: "idle", expiresAt: null, idleAt: null });
    expect((await eventsAfter(store.db, "acme", 0, 100)).at(-1)).toMatchObject({ type: "session.paused", data: { reason: "idle" } });
  });
});

describe("the use of a session", () => {
  test("is written when its server stops, and the next server counts from that", async () => {
    const { clock, activity } = await open();
    const id = await create();
    for (const waitSeconds of [65, 20]) {
      await pass(waitSeconds * SECOND);
      activity.note(await get(id));
    }
    const lastMs = clock.now();
    await services.stop();
    await using next = services.another();
    await next.start();
    expect((await get(id)).idleAt).toBe(lastMs + 2 * MINUTE);
    await pass(2 * MINUTE - 2 * SECOND);
    expect(await statusOf(id)).toBe("running");
    await pass(4 * SECOND);
    expect(await get(id)).toMatchObject({ status: "paused", stopReason: "idle" });
  });

  test("is written at most once a minute, and all of it counts", async () => {
    const { activity } = await open();
    const id = await create();
    const written = new Set<number | null>();
    for (let seconds = 0; seconds < 300; seconds += 5) {
      activity.note(await get(id));
      await pass(5 * SECOND);
      written.add((await get(id)).idleAt);
    }
    expect(written.size).toBeLessThanOrEqual(6);
    await pass(2 * MINUTE - 7 * SECOND);
    expect(await statusOf(id)).toBe("running");
    await pass(4 * SECOND);
    expect(await statusOf(id)).toBe("paused");
  });

  test("on one server of a cluster keeps another from pausing it", async () => {
    const { clock } = await open({ host: null });
    await using other = services.another({ host: null });
    await other.start();
    const id = await create();
    // With a tick every second at both ends, because the servers learn from each other within seconds.
    const passTogether = async (seconds: number) => {
      const endSeconds = Math.min(10, seconds / 2);
      await clock.advance(endSeconds * SECOND);
      await pass((seconds - 2 * endSeconds) * SECOND);
      await clock.advance(endSeconds * SECOND);
    };
    // Also at moments at which the last write is less than a minute old.
    for (const waitSeconds of [61, 1, 59, 2, 115, 3, 119]) {
      await passTogether(waitSeconds);
      expect(await statusOf(id)).toBe("running");
      other.activity.note(await get(id));
    }
    await passTogether(120);
    expect(await statusOf(id)).toBe("running");
    await clock.advance(7 * SECOND);
    expect(await statusOf(id)).toBe("paused");
  });

  test("that goes on keeps it running until its timeout", async () => {
    const { activity } = await open();
    const [short, long, without] = [await create({ timeoutMs: 5 * MINUTE }), await create(), await create({ idleTimeoutMs: null })];
    const uses = [activity.begin(await get(short)), activity.begin(await get(long))];
    activity.note(await get(without));
    await pass(5 * MINUTE + SECOND);
    expect(await get(short)).toMatchObject({ status: "paused", stopReason: "timeout" });
    expect(await statusOf(long)).toBe("running");
    for (const use of uses) use[Symbol.dispose]();
    await pass(2 * MINUTE + SECOND);
    expect(await get(long)).toMatchObject({ status: "paused", stopReason: "idle" });
    expect(await get(without)).toMatchObject({ status: "running", idleAt: null });
  });

  test("is an agent's turn, and the idle timeout counts from its end", async () => {
    let workedUntilMs = Infinity;
    let asked = 0;
    const answer = () => {
      asked++;
      return JSON.stringify({ agentIdleMs: Math.max(0, services.clock.now() - workedUntilMs) });
    };
    const { clock } = await open({ wrapLinks: answering(answer) });
    const id = await create();
    await pass(10 * MINUTE);
    expect(await statusOf(id)).toBe("running");
    // The daemon is asked once whenever the session could be idle soon.
    expect(asked).toBeLessThanOrEqual(10);
    workedUntilMs = clock.now() + 30 * SECOND;
    await pass(30 * SECOND + 2 * MINUTE - SECOND);
    expect(await statusOf(id)).toBe("running");
    await pass(2 * SECOND);
    expect(await statusOf(id)).toBe("paused");
  });

  test("is not what a daemon claims in a malformed answer", async () => {
    let answer = "";
    await open({ wrapLinks: answering(() => answer) });
    for (answer of ["{}", "null", "nonsense", '{"agentIdleMs":-1}', '{"agentIdleMs":"0"}', '{"agentIdleMs":1e300}']) {
      const id = await create();
      await pass(2 * MINUTE + SECOND);
      expect([answer, await statusOf(id)]).toEqual([answer, "paused"]);
    }
  });

  test.each(["the driver", "the daemon"])("is a busy processor, if the template says so and %s measures it", async (measures) => {
    const busy = { ...DEFAULT_TEMPLATE, name: "busy", busyCounts: true };
    let cpuMs = 0;
    await open({
      templates: new Map([DEFAULT_TEMPLATE, busy].map((template) => [template.name, template])),
      wrapDriver: (driver) => ({
        ...driver,
        stats: async (id, signal) => ({ ...(await driver.stats(id, signal)), cpuMs: measures === "the driver" ? cpuMs : null }),
      }),
      ...(measures === "the daemon" && { wrapLinks: answering(() => JSON.stringify({ agentIdleMs: null, cpuMs })) }),
    });
    const [computing, other] = [await create({ template: "busy" }), await create()];
    for (let minutes = 0; minutes < 6; minutes += 0.5) {
      await pass(30 * SECOND);
      cpuMs += 0.06 * 30 * SECOND;
    }
    expect([await statusOf(computing), await statusOf(other)]).toEqual(["running", "paused"]);
    for (let minutes = 0; minutes < 4; minutes += 0.5) {
      await pass(30 * SECOND);
      cpuMs += 0.04 * 30 * SECOND;
    }
    expect(await statusOf(computing)).toBe("paused");
  });
});

test("the idle timeout is that of the request, of the template or of the partner, and can be changed", async () => {
  const quick = { ...DEFAULT_TEMPLATE, name: "quick", idleTimeoutMs: 10 * MINUTE };
  const templates = new Map([DEFAULT_TEMPLATE, quick].map((template) => [template.name, template]));
  const { clock, sessions } = await open({ templates });
  const partner = { ...services.acme, idleTimeoutMs: HOUR };
  const idleTimeoutOf = async (changes: object) => (await sessions.create(partner, aRequest(changes))).idleTimeoutMs;
  expect(await idleTimeoutOf({})).toBe(HOUR);
  expect(await idleTimeoutOf({ template: "quick" })).toBe(10 * MINUTE);
  expect(await idleTimeoutOf({ template: "quick", idleTimeoutMs: 20 * MINUTE })).toBe(20 * MINUTE);
  expect(await idleTimeoutOf({ template: "quick", idleTimeoutMs: null })).toBe(null);

  const id = await create({ idleTimeoutMs: null });
  await pass(MINUTE);
  expect(await sessions.update("acme", id, { idleTimeoutMs: 2 * MINUTE })).toMatchObject({ idleAt: clock.now() + 2 * MINUTE });
  expect(await sessions.update("acme", id, { idleTimeoutMs: null })).toMatchObject({ idleAt: null });
  await pass(3 * MINUTE);
  expect(await statusOf(id)).toBe("running");
  await sessions.update("acme", id, { idleTimeoutMs: 2 * MINUTE });
  await pass(2 * MINUTE + SECOND);
  expect(await statusOf(id)).toBe("paused");
  await sessions.resume("acme", id, { autoStartAgent: false });
  expect(await get(id)).toMatchObject({ status: "running", stopReason: null, idleAt: clock.now() + 2 * MINUTE });
});
