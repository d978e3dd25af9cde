import { afterEach, expect, test } from "vitest";
import { createSecrets } from "../../secrets/secrets.ts";
import { findSession } from "../../store/sessions/read.ts";
import { moveSession } from "../../store/sessions/write.ts";
import { createEndSandboxes, type EndSandboxesDeps } from "./end-sandboxes.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function open(changes: Partial<EndSandboxesDeps> = {}) {
  const services = stack.use(await openTestSessions());
  const site = { driver: services.driver.name, host: "test" };
  const ending = createEndSandboxes({ ...services.deps, site, hasReplicas: false, ...changes });
  return { services, ending, conditionOf: (id: never) => services.driver.inspect(id, AbortSignal.timeout(10_000)) };
}

test("an abandoned resume is undone, not finished", async () => {
  const { services, ending } = await open();
  const session = await services.sessions.create(services.acme, aRequest());
  await services.sessions.pause("acme", session.id);
  const paused = (await findSession(services.store.db, session.id))!;
  const lease = { owner: "dead", untilMs: services.clock.now() + 60_000 };
  await moveSession(services.store.db, paused, "resuming", { lease });
  await services.driver.resume({ id: session.sandboxId } as never, AbortSignal.timeout(10_000));

  expect(await ending.pauseAll()).toEqual({ paused: 1, destroyed: 0, discarded: 0, orphans: 0, failures: [] });
  expect(await findSession(services.store.db, session.id)).toMatchObject({ state: "paused", isHibernated: true });
  expect(await services.driver.inspect(session.sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});

test("sandboxes can be ended without the master key and without their template", async () => {
  const { services, ending } = await open({ secrets: createSecrets([Buffer.alloc(32, 1)]), templates: new Map() });
  const running = await services.sessions.create(services.acme, aRequest());
  const frozen = await services.sessions.create(services.acme, aRequest());
  await services.sessions.pause("acme", frozen.id);

  expect(await ending.pauseAll()).toEqual({ paused: 2, destroyed: 0, discarded: 0, orphans: 0, failures: [] });
  for (const { sandboxId } of [running, frozen])
    expect(await services.driver.inspect(sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});

test("in a cluster, a step of another server is taken over only after its lease has expired", async () => {
  const { services } = await open();
  const session = await services.sessions.create(services.acme, aRequest());
  await services.store.db.updateTable("sessions").set({ host: null }).execute();
  const running = (await findSession(services.store.db, session.id))!;
  await moveSession(services.store.db, running, "pausing", { lease: { owner: "other", untilMs: services.clock.now() + 60_000 } });
  const ending = createEndSandboxes({ ...services.deps, site: { driver: "process", host: null }, hasReplicas: true });

  let settled = false;
  const ended = ending.pauseAll().finally(() => (settled = true));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(settled).toBe(false);
  await services.clock.advance(61_000);
  expect(await ended).toMatchObject({ paused: 1, failures: [] });
});

test("a sandbox that cannot be ended is reported, and the others are ended anyway", async () => {
  const { services } = await open();
  const stuck = await services.sessions.create(services.acme, aRequest());
  const other = await services.sessions.create(services.acme, aRequest());
  const { driver } = services;
  const site = { driver: driver.name, host: "test" };
  const hibernate: typeof driver.hibernate = (id, signal) =>
    id === stuck.sandboxId ? Promise.reject(new Error("the engine is down")) : driver.hibernate(id, signal);
  const { failures, paused } = await createEndSandboxes({
    ...services.deps,
    site,
    hasReplicas: false,
    driver: { ...driver, hibernate },
  }).pauseAll();
  expect(paused).toBe(1);
  expect(failures).toEqual([expect.stringMatching(new RegExp(`^${stuck.sandboxId}: .*the engine is down`))]);
  expect(await driver.inspect(other.sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});
