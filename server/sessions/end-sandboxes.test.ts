import { afterEach, expect, test } from "vitest";
import { createSecrets } from "../secrets/secrets.ts";
import { findSession, moveSession } from "../store/sessions/sessions.ts";
import { createEndSandboxes, type EndSandboxesDeps } from "./end-sandboxes.ts";
import { aRequest, openTestHeart } from "./testing.ts";

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function open(changes: Partial<EndSandboxesDeps> = {}) {
  const heart = stack.use(await openTestHeart());
  const home = { driver: heart.driver.name, host: "test" };
  const ending = createEndSandboxes({ ...heart.deps, home, hasReplicas: false, ...changes });
  return { heart, ending, conditionOf: (id: never) => heart.driver.inspect(id, AbortSignal.timeout(10_000)) };
}

test("a resume that a dead server left behind is undone, not finished", async () => {
  const { heart, ending } = await open();
  const session = await heart.sessions.create(heart.acme, aRequest());
  await heart.sessions.pause("acme", session.id);
  const paused = (await findSession(heart.store.db, session.id))!;
  const lease = { lease_owner: "dead", lease_until: heart.clock.now() + 60_000 };
  await moveSession(heart.store.db, paused, "resuming", lease);
  await heart.driver.resume({ id: session.sandboxId } as never, AbortSignal.timeout(10_000));

  expect(await ending.pauseAll()).toEqual({ paused: 1, destroyed: 0, discarded: 0, orphans: 0, failures: [] });
  expect(await findSession(heart.store.db, session.id)).toMatchObject({ state: "paused", hibernated: 1, lease_until: null });
  expect(await heart.driver.inspect(session.sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});

test("sandboxes are ended without the master key and without their template", async () => {
  const { heart, ending } = await open({ secrets: createSecrets([Buffer.alloc(32, 1)]), templates: new Map() });
  const running = await heart.sessions.create(heart.acme, aRequest());
  const frozen = await heart.sessions.create(heart.acme, aRequest());
  await heart.sessions.pause("acme", frozen.id);

  expect(await ending.pauseAll()).toEqual({ paused: 2, destroyed: 0, discarded: 0, orphans: 0, failures: [] });
  for (const { sandboxId } of [running, frozen]) expect(await heart.driver.inspect(sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});

test("in a cluster a step that another server may be at work on is waited for until its lease has run out", async () => {
  const { heart } = await open();
  const session = await heart.sessions.create(heart.acme, aRequest());
  await heart.store.db.updateTable("sessions").set({ host: null }).execute();
  const running = (await findSession(heart.store.db, session.id))!;
  await moveSession(heart.store.db, running, "pausing", { lease_owner: "other", lease_until: heart.clock.now() + 60_000 });
  const ending = createEndSandboxes({ ...heart.deps, home: { driver: "process", host: null }, hasReplicas: true });

  let settled = false;
  const ended = ending.pauseAll().finally(() => (settled = true));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(settled).toBe(false);
  await heart.clock.advance(61_000);
  expect(await ended).toMatchObject({ paused: 1, failures: [] });
});

test("what cannot be ended is named, and the others are ended all the same", async () => {
  const { heart } = await open();
  const stuck = await heart.sessions.create(heart.acme, aRequest());
  const other = await heart.sessions.create(heart.acme, aRequest());
  const { driver } = heart;
  const home = { driver: driver.name, host: "test" };
  const hibernate: typeof driver.hibernate = (id, signal) =>
    id === stuck.sandboxId ? Promise.reject(new Error("the engine is away")) : driver.hibernate(id, signal);
  const { failures, paused } = await createEndSandboxes({
    ...heart.deps,
    home,
    hasReplicas: false,
    driver: { ...driver, hibernate },
  }).pauseAll();
  expect(paused).toBe(1);
  expect(failures).toEqual([expect.stringMatching(new RegExp(`^${stuck.sandboxId}: .*the engine is away`))]);
  expect(await driver.inspect(other.sandboxId, AbortSignal.timeout(10_000))).toBe("stopped");
});
